"""Results: limits stand behind their value, and everything comes back from JSON."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.provenance import Provenance
from qtheory.system.results import ESTIMATED, RunResult, as_entry, from_json, to_json


def plain(**changes: Any) -> RunResult:
    """A result with a number for everything that has no default."""
    numbers: dict[str, Any] = {item.name: 0.25 for item in fields(RunResult) if "float" in str(item.type)}
    numbers |= {item.name: 3 for item in fields(RunResult) if item.type == "int"}
    numbers |= {"scheduler": "fcfs", "rate_rps": 2.0, "limits": {}}
    return RunResult(**(numbers | {"unreliable": (), "timeline": ()} | changes))


def test_limits_stand_right_behind_their_value() -> None:
    row = plain(limits={"p99_ttft_s": (0.2, 0.4)}).row()
    names = list(row)
    for name in ESTIMATED:
        place = names.index(name)
        assert names[place : place + 3] == [name, f"{name}_low", f"{name}_high"]
    assert (row["p99_ttft_s_low"], row["p99_ttft_s_high"]) == (0.2, 0.4)
    assert row["mean_ttft_s_low"] is None


def test_a_result_comes_back_from_json_as_it_was() -> None:
    results = [
        plain(
            rate_rps=math.inf,
            speed=None,
            limits={"goodput_frac": (0.1, 0.3)},
            unreliable=("goodput_frac",),
            timeline=({"start_s": 0.0},),
            mean_tpot_s=None,
            provenance=Provenance(version="1", scenario={"tp": 2}, seed=4),
        ),
        plain(scheduler="slo", provenance=Provenance(version="1", scenario={"tp": 2}, seed=4)),
    ]
    assert from_json(to_json(results)) == results


def test_an_unknown_key_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match="did you mean 'p99_ttft_s'"):
        RunResult.from_dict(as_entry(plain()) | {"p99_tft_s": 1.0})


def test_the_summary_shows_limits_in_the_unit_of_the_value() -> None:
    text = replace(plain(), goodput_frac=0.5, limits={"goodput_frac": (0.4, 0.6)}).summary()
    assert "50.0 (40.0 to 60.0)" in text
    assert "unreliable" in text


def test_a_frame_has_a_column_a_key() -> None:
    result = plain()
    assert list(result.to_frame().columns) == list(result.row())
