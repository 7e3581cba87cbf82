"""What may stand in a name and what may not, and how models describe themselves."""

from __future__ import annotations

import re

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.queues.kendall import NamedQueue, kendall_models


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("M/M/1/\u221e", "M/M/1"),
        ("M/M/3/20/inf/FCFS", "M/M/3/20"),
        ("m/m/inf/inf/fifo", "M/M/inf"),
        ("M/M/1-FCFS", "M/M/1"),
        ("M/M/4 fifo", "M/M/4"),
        ("Erlang A", "M/M/c+M"),
    ],
)
def test_places_that_say_the_usual_can_stand_in_the_name(name: str, title: str) -> None:
    assert NamedQueue(name=name).title == title


@pytest.mark.parametrize("name", ["M/M/-1", "M/M/ -1", "M/-M/1", "M/M/1/inf/10"])
def test_a_minus_and_a_population_are_not_passed_over(name: str) -> None:
    with pytest.raises(ConfigError, match="unknown"):
        NamedQueue(name=name)


def test_a_matrix_can_be_written_in_rows_with_semicolons() -> None:
    stations = {"external_rps": "1,0", "service_rates_rps": "3,2"}
    written = [
        NamedQueue(name="open Jackson network", given=stations | {"routing": text}).values["routing"]
        for text in ("0,0.5; 0.2,0", "[[0, 0.5], [0.2, 0]]")
    ]
    assert written[0] == written[1] == [[0.0, 0.5], [0.2, 0.0]]


def test_what_a_model_is_has_no_marks_of_its_source() -> None:
    marked = [model.name for model in kendall_models() if re.search(r"``|\]_|:\w+:`", model.says)]
    assert marked == []
