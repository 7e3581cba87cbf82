"""Notes below a table: where there is no steady state, and which limits hold less."""

from __future__ import annotations

import math

import pytest

from qtheory.report import notes, sweep_text, warnings_of
from qtheory.report.text import with_limits


def row(rate_rps: float, kind: str, **more: object) -> dict[str, object]:
    return {"scheduler": "slo", "rate_rps": rate_rps, "kind": kind, "level": 0.95, **more}


STABLE, OVER = row(2.0, "steady state"), row(9.0, "overloaded: finite run, no steady state")


def test_nothing_is_said_of_finite_runs_and_steady_states() -> None:
    assert notes([row(2.0, "finite run"), STABLE]) == []


def test_each_kind_of_doubt_is_said_with_its_points() -> None:
    unsure = row(5.0, "undecided: the runs disagree (1 stable, 1 undecided): run longer")
    missed = row(2.0, "steady state", precision_reached=False, n_replications=40, n_requests=80_000)
    assert notes([STABLE, OVER, {**OVER, "rate_rps": 12.0}, unsure, missed]) == [
        "Overloaded, no steady state (numbers of finite runs, which grow with their length): "
        "slo at 9, 12 req/s",
        "Steady state undecided, the runs disagree (1 stable, 1 undecided): run longer: slo at 5 req/s",
        "Precision not reached: slo at 2 req/s after 40 replications (80,000 requests)",
    ]
    assert len(warnings_of([STABLE, OVER, unsure, missed])) == 2


def test_a_closed_loop_has_no_rate_to_be_named() -> None:
    assert notes([row(math.inf, "undecided: few")])[0].endswith("few: slo")


def test_unreliable_limits_are_marked_and_explained_with_their_level() -> None:
    rows = [
        {
            **row(2.0, "steady state", level=0.9),
            "goodput_frac": 0.5,
            "goodput_frac_low": 0.4,
            "goodput_frac_high": 0.6,
            "unreliable": ["goodput_frac"],
        }
    ]
    text = sweep_text(rows, goodput_frac=0.9)
    assert text.count("~50 ±10") == 2  # in the grid and in the table below it
    assert "~ limits that hold the truth less often than 90 %" in text


@pytest.mark.parametrize(
    ("value", "half", "shown"),
    [
        (0.16712, 0.0039, "0.167 ±0.004"),
        (0.16712, 0.0241, "0.167 ±0.024"),
        (1234.5, 12.3, "1234 ±12"),
        (1234.5, 456.0, "1234 ±456"),
        (0.0, 0.0, "0.0000 ±0"),
        (0.25, 1e-13, "0.250000 ±0"),
        (1.833, 0.0, "1.8330 ±0"),
        (5.0, 0.0996, "5.00 ±0.10"),
    ],
)
def test_decimals_are_those_that_the_width_deserves(value: float, half: float, shown: str) -> None:
    limits = {"x_s": value, "x_s_low": value - half, "x_s_high": value + half}
    assert with_limits(limits, "x_s") == shown


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (0.98, 0.85, 0.995, "98 +2/-13"),
        (1.0, 0.9989, 1.0, "100.00 +0/-0.11"),
        (0.001, 0.0, 0.004, "0.10 +0.30/-0.10"),
        (0.9, 0.85, 0.95, "90 ±5"),
        (0.4, -0.2, 1.4, "40 ±80"),
    ],
)
def test_a_share_reaches_no_further_than_its_limits(
    value: float, low: float, high: float, shown: str
) -> None:
    row = {"goodput_frac": value, "goodput_frac_low": low, "goodput_frac_high": high}
    assert with_limits(row, "goodput_frac") == shown


@pytest.mark.parametrize("limit", [None, math.nan, math.inf])
def test_a_value_without_limits_is_shown_alone(limit: float | None) -> None:
    assert with_limits({"x_s": 0.5, "x_s_low": limit, "x_s_high": 0.6}, "x_s") == "0.5"
    assert with_limits({"x_s": None, "x_s_low": 0.1, "x_s_high": 0.6}, "x_s") == "-"
    assert with_limits({}, "x_s") == "-"
