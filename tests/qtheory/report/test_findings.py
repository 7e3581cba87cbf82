"""Sentences about comparisons, and where goodput crosses a share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.report import Crossing, comparison, goodput_crossing

SHARES = st.floats(0.0, 1.0)


def test_the_crossing_is_linear_between_two_points() -> None:
    crossing = goodput_crossing([(10.0, 0.6), (6.0, 1.0), (2.0, 1.0)])
    assert crossing.rate_rps == pytest.approx(7.0)
    assert not crossing.is_last_rate


def test_a_share_held_at_the_largest_rate_is_a_lower_bound() -> None:
    crossing = goodput_crossing([(2.0, 1.0), (6.0, 0.95)])
    assert crossing == Crossing(goodput_frac=0.9, rate_rps=6.0, is_last_rate=True)
    assert "or more" in str(crossing)


def test_a_share_that_no_rate_has_gives_none() -> None:
    assert goodput_crossing([(2.0, 0.5)]).rate_rps is None
    assert str(goodput_crossing([(2.0, 0.5)])) == "none of the rates"


def test_the_last_good_point_counts_even_behind_a_bad_one() -> None:
    assert goodput_crossing([(2.0, 0.8), (4.0, 1.0), (6.0, 0.8)]).rate_rps == pytest.approx(5.0)


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, float("nan")])
def test_a_share_outside_its_range_is_refused(share: float) -> None:
    with pytest.raises(ConfigError, match="goodput_frac"):
        goodput_crossing([(1.0, 1.0)], goodput_frac=share)


def test_no_points_are_refused() -> None:
    with pytest.raises(ConfigError, match="points"):
        goodput_crossing([])


@given(st.lists(SHARES, min_size=1, max_size=8), st.floats(0.01, 1.0))
def test_the_crossing_stands_between_the_last_good_and_the_next_rate(
    shares: list[float], asked: float
) -> None:
    points = [(float(rate), share) for rate, share in enumerate(shares, start=1)]
    crossing = goodput_crossing(points, goodput_frac=asked)
    good = [rate for rate, share in points if share >= asked]
    if not good:
        assert crossing.rate_rps is None
        return
    assert crossing.rate_rps is not None
    assert max(good) <= crossing.rate_rps <= max(good) + 1
    assert crossing.is_last_rate == (max(good) == len(points))


def test_the_comparison_names_best_and_worst_with_factor_and_points() -> None:
    rows = [
        {"scheduler": "fcfs", "p99_tpot_s": 0.44, "goodput_frac": 0.5},
        {"scheduler": "chunked", "p99_tpot_s": 0.055, "goodput_frac": 0.75},
        {"scheduler": "static", "p99_tpot_s": 0.1, "goodput_frac": 0.6},
    ]
    assert comparison(rows) == (
        "chunked has the smallest p99 TPOT: 0.055 s, 8.0 times less than fcfs (0.44 s).\n"
        "Goodput is highest with chunked: 75.0 %, 25.0 points more than fcfs (50.0 %)."
    )


def test_equal_schedulers_are_called_equal() -> None:
    rows = [{"scheduler": name, "p99_tpot_s": 0.05, "goodput_frac": 1.0} for name in ("fcfs", "chunked")]
    assert comparison(rows) == "All have the same p99 TPOT: 0.05 s.\nAll have the same goodput: 100.0 %."


def test_what_was_not_measured_is_not_compared() -> None:
    rows: list[dict[str, object]] = [
        {"scheduler": "fcfs", "p99_tpot_s": None, "goodput_frac": 0.5},
        {"scheduler": "chunked", "p99_tpot_s": float("nan"), "goodput_frac": 0.75},
    ]
    assert "TPOT" not in comparison(rows)
    assert comparison(rows[:1]) == ""
