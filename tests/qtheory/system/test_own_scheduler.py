"""Names of a person's own schedulers are told from those of this package."""

from __future__ import annotations

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.own_scheduler import is_own, own_name
from qtheory.system.scheduler import SCHEDULERS
from qtheory.system.scheduler_text import parse_scheduler


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("mine.py:Mine", ("mine.py", "Mine", "")),
        ("a folder/mine.py:Mine(x=1, names=[1, 2])", ("a folder/mine.py", "Mine", "x=1, names=[1, 2]")),
        (" ../mine.py:Mine() ", ("../mine.py", "Mine", "")),
        ("C:\\rules\\mine.py:Mine", ("C:\\rules\\mine.py", "Mine", "")),
    ],
)
def test_a_name_in_a_file_is_taken_apart(text: str, parts: tuple[str, str, str]) -> None:
    own = own_name(text)
    assert own is not None
    assert (own.file, own.what, own.inside) == parts
    assert parse_scheduler(text, max_seqs=7).max_seqs == 7
    assert parse_scheduler(text).name == text.strip()


@pytest.mark.parametrize(
    "text", [*SCHEDULERS, "mine.py", "mine.py:", "mine:Mine", "mine.py:Mi ne", ":Mine", ""]
)
def test_other_names_are_not_own(text: str) -> None:
    assert not is_own(text)


@pytest.mark.parametrize("text", ["mine.py", "mine.py:", "chunkd"])
def test_a_name_that_is_nothing_is_refused_with_what_there_is(text: str) -> None:
    with pytest.raises(ConfigError, match=r"scheduler: .*one of fcfs"):
        parse_scheduler(text)
