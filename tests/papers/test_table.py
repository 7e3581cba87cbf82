"""Rows and tables: what they allow and how they are written."""

from __future__ import annotations

import pytest

from papers.table import Row, Table


def _row(source: str, ours: float, within: float | None = None) -> Row:
    return Row(case="x", source=source, ours=ours, origin="identity", within=within)


@pytest.mark.parametrize(
    ("source", "ours", "agrees"),
    [("2.00", 2.005, True), ("2.00", 2.0051, False), ("-3", -3.4, True), ("-3", -3.6, False)],
)
def test_half_a_unit_of_the_last_digit_is_allowed(source: str, ours: float, agrees: bool) -> None:
    assert _row(source, ours).agrees is agrees


def test_a_stated_distance_takes_its_place() -> None:
    assert _row("23", 22.1, within=1.0).agrees
    assert not _row("23", 21.9, within=1.0).agrees
    assert not _row("49", 50, within=0).agrees


def test_what_is_not_a_number_does_not_agree() -> None:
    assert not _row("1.0", float("nan")).agrees


@pytest.mark.parametrize(
    ("source", "ours", "shown"),
    [
        ("1.00", 1.0 - 1e-9, ["1.00", "1.0000", "0", "0.005"]),
        ("0.00", -1e-9, ["0.00", "0.0000", "0", "0.005"]),
        ("1.00", 1.25, ["1.00", "1.2500", "+0.25", "0.005"]),
        ("1.00", 0.9, ["1.00", "0.9000", "-0.1", "0.005"]),
        ("10", 20, ["10", "20", "+10", "0"]),
        ("10", 10.4, ["10", "10.40", "+0.4", "0.5"]),
    ],
)
def test_differences_have_a_sign_and_zeros_have_none(source: str, ours: float, shown: list[str]) -> None:
    within = 0 if isinstance(ours, int) else None
    assert _row(source, ours, within).cells() == ["x", *shown, "identity"]


def test_a_table_has_a_line_a_row() -> None:
    table = Table(name="t", rows=(_row("1.0", 1.0), _row("2.0", 2.0)))
    assert [line.split(" | ")[1] for line in table.markdown().splitlines()[2:]] == ["1.0", "2.0"]
