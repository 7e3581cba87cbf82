"""Sentences about comparisons, and where goodput crosses a share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.report import Crossing, comparison, goodput_crossing, told_apart

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


def difference(quantity: str, a: str, b: str, limits: tuple[float, float]) -> dict[str, object]:
    low, high = limits
    verdict = f"{a if high < 0 else b} lower" if low * high > 0 else "no difference"
    middle = (low + high) / 2
    return {"quantity": quantity, "a": a, "b": b, "difference": middle, "low": low, "high": high,
            "verdict": verdict}  # fmt: skip


@pytest.mark.parametrize(
    ("quantity", "limits", "said"),
    [
        ("p99_tpot_s", (0.35, 0.39), "p99 TPOT: b lower than a by 0.37 s (0.35 to 0.39)"),
        ("p99_tpot_s", (-0.39, -0.35), "p99 TPOT: a lower than b by 0.37 s (0.35 to 0.39)"),
        ("goodput_frac", (0.04, 0.06), "goodput: a higher than b by 5 points (4 to 6)"),
        ("goodput_frac", (-0.06, -0.04), "goodput: b higher than a by 5 points (4 to 6)"),
        ("goodput_frac", (-0.01, 0.02), "goodput: no difference between a and b (-1 to 2 points)"),
        ("mean_ttft_s", (-0.1, 0.2), "mean TTFT: no difference between a and b (-0.1 to 0.2 s)"),
    ],
)
def test_the_better_one_is_named_first_and_no_difference_is_an_answer(
    quantity: str, limits: tuple[float, float], said: str
) -> None:
    assert told_apart([difference(quantity, "a", "b", limits)]) == said


def test_of_many_schedulers_only_the_pairs_with_the_first_are_put_in_words() -> None:
    def lines(names: str) -> int:
        pairs = [(a, b) for a in names for b in names if a < b]
        return len(told_apart([difference("mean_ttft_s", a, b, (0.1, 0.2)) for a, b in pairs]).splitlines())

    assert [lines(names) for names in ("ab", "abc", "abcd", "abcde")] == [1, 3, 3, 4]


def test_all_that_are_best_are_named() -> None:
    shares = {"fcfs": 0.5, "orca": 1.0, "chunked": 0.9999, "priority": 1.0}
    rows = [
        {"scheduler": name, "p99_tpot_s": 0.1 if name == "fcfs" else 0.05, "goodput_frac": share}
        for name, share in shares.items()
    ]
    assert comparison(rows) == (
        "orca, chunked and priority have the smallest p99 TPOT: 0.05 s, 2.0 times less than fcfs (0.1 s).\n"
        "Goodput is highest with orca, chunked and priority: 100.0 %, 50.0 points more than fcfs (50.0 %)."
    )


def test_short_times_of_a_scheduler_that_serves_few_are_not_praised() -> None:
    rows = [
        {"scheduler": "static", "p99_tpot_s": 0.01, "goodput_frac": 0.3},
        {"scheduler": "chunked", "p99_tpot_s": 0.05, "goodput_frac": 0.9},
        {"scheduler": "fcfs", "p99_tpot_s": 0.10, "goodput_frac": 0.8},
    ]
    first = comparison(rows).splitlines()[0]
    assert first == (
        "Of those with at least half of the best goodput, chunked has the smallest p99 TPOT: 0.05 s, "
        "2.0 times less than fcfs (0.1 s)."
    )
    assert comparison(rows[1:]).startswith("chunked has the smallest")


@pytest.mark.parametrize(("high", "said"), [(6.0, "4 req/s (between 2 and 6)"), (2.08, "2.04 req/s")])
def test_a_coarse_crossing_says_between_which_rates_it_stands(high: float, said: str) -> None:
    assert str(goodput_crossing([(2.0, 1.0), (high, 0.8)])) == said
