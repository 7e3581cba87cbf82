"""The page of models and quantities says what the library does, and names tests that exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from qtheory.queues.kendall import find_model, kendall_models
from validation.oracles.__main__ import main
from validation.oracles._checks import CHECKS, OTHERS
from validation.oracles.checker import known_models
from validation.oracles.page import COLUMNS, cells, is_unbuilt, page

ROOT = Path(__file__).resolve().parents[3]
EXTRACT = ROOT / "tests" / "data" / "oracles" / "known_values.csv"
COMMAND = "python -m validation.oracles tests/data/oracles/known_values.csv > docs/models.md"


def test_the_page_is_what_the_command_prints() -> None:
    assert page(EXTRACT) == (ROOT / "docs" / "models.md").read_text(encoding="utf-8"), f"stale: {COMMAND}"


def test_every_model_is_checked_by_tests_that_exist() -> None:
    assert set(CHECKS) == {model.name for model in kendall_models()}
    folder = ROOT / "tests" / "qtheory" / "queues"
    for name, check in (CHECKS | OTHERS).items():
        assert (folder / check.test).is_file(), name
        assert check.second, name


def test_every_model_of_a_table_is_on_the_page() -> None:
    tables = {table for check in (CHECKS | OTHERS).values() for table in check.tables}
    assert tables == set(known_models())


@pytest.mark.parametrize(
    ("name", "symbols"),
    [
        ("M/M/c", "==========–="),
        ("GI/G/c", "≈––≈––≈––––="),
        ("M/M/1-PS", "–––=====–=–="),
        ("M/M/c/K", "===========–"),
        ("M/M/c priority nonpreemptive", "==========–="),
    ],
)
def test_cells_tell_what_there_is_and_why_not(name: str, symbols: str) -> None:
    _, row = cells(find_model(name)[0])
    assert list(row) == list(COLUMNS)
    assert "".join(cell.symbol for cell in row.values()) == symbols
    for cell in row.values():
        assert bool(cell.reason) == (cell.symbol not in "=≈≤")
        assert not is_unbuilt(cell.reason)


def test_a_table_that_cannot_be_read_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lost.csv"]) == 2
    assert main([]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert "no such file" in first
    assert "usage" in second
