"""The page on predictions says what the package does."""

from __future__ import annotations

import doctest
from pathlib import Path

from qtheory.predict import MODELLED_SCHEDULERS, OVERLOAD_SCHEDULERS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "predictions.md"


def test_the_example_runs_as_it_stands() -> None:
    failed, tried = doctest.testfile(
        str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert tried > 3
    assert failed == 0


def test_the_table_names_the_schedulers_that_have_a_model() -> None:
    rows = {
        line.split("|")[1].strip(): line for line in PAGE.read_text().splitlines() if line.startswith("| ")
    }
    assert all(name in rows["steady state at a rate"] for name in MODELLED_SCHEDULERS)
    assert all(name in rows["a rate above the limit, for a while"] for name in OVERLOAD_SCHEDULERS)
