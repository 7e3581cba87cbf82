"""Crossings of curves: any function of the rate, with few evaluations, and never a made-up answer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, ConvergenceError, UnstableError
from qtheory.planning import Search, find_knee

PLAIN = settings(deadline=None, derandomize=True)


def mm1(rate: float, *, service_rps: float = 10.0, limit_s: float = 1.0) -> float:
    """Share of responses of M/M/1 within a limit."""
    if rate >= service_rps:
        raise UnstableError("too much")
    return 1 - math.exp(-(service_rps - rate) * limit_s)


@PLAIN
@given(
    level=st.floats(0.3, 0.995),
    service=st.floats(0.05, 500.0),
    start=st.floats(0.01, 1000.0),
)
def test_the_knee_of_an_exact_law_is_found_from_anywhere(level: float, service: float, start: float) -> None:
    limit_s = 20 / service
    knee = service + math.log(1 - level) / limit_s
    found = find_knee(
        lambda rate: mm1(rate, service_rps=service, limit_s=limit_s), goodput_frac=level, start_rps=start
    )
    assert found == pytest.approx(knee, rel=2e-3)


def test_a_step_is_found() -> None:
    assert find_knee(lambda rate: 1.0 if rate < 7.3 else 0.0) == pytest.approx(7.3, rel=2e-3)


def test_what_is_too_low_at_small_rates_does_not_hide_the_knee() -> None:
    def good(rate: float) -> float:
        return 0.8 if rate < 0.5 else 0.97 if rate < 6 else 0.3

    assert find_knee(good, start_rps=4.0) == pytest.approx(6.0, rel=2e-3)


def test_a_function_that_is_never_good_enough_has_no_knee() -> None:
    assert find_knee(lambda rate: 0.5) is None


def test_a_function_that_is_always_good_enough_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigError, match="no rate is too high; give tighter limits"):
        find_knee(lambda rate: 0.99)


@pytest.mark.parametrize("level", [0.0, 1.0, 1.5, -0.1])
def test_a_level_that_is_no_share_is_refused(level: float) -> None:
    with pytest.raises(ConfigError, match="goodput_frac"):
        find_knee(mm1, goodput_frac=level)


def test_where_the_curve_has_no_answer_nothing_is_made_up() -> None:
    def good(rate: float) -> float:
        if 6.0 < rate < 9.5:
            raise ConvergenceError("no law was found")
        return mm1(rate)

    with pytest.raises(ConvergenceError, match=r"no answer at .* no law was found"):
        find_knee(good, start_rps=4.0)


def test_a_gap_beside_the_knee_does_no_harm() -> None:
    def good(rate: float) -> float:
        if 8.2 < rate < 8.8:
            raise ConvergenceError("no law was found")
        return mm1(rate)

    rates = np.linspace(1.0, 9.9, 30)
    guide = [mm1(0.95 * rate) for rate in rates]  # leads into the gap
    search = Search(good, guide=(rates, guide), limit_rps=10.0)
    assert search.crossing(0.9) == pytest.approx(10 + math.log(0.1), rel=3e-3)


def test_a_guide_saves_evaluations() -> None:
    rates = np.linspace(0.5, 9.99, 40)
    search = Search(mm1, guide=(rates, [1 - 1.3 * (1 - mm1(rate)) for rate in rates]), limit_rps=10.0)
    assert search.crossing(0.9) == pytest.approx(10 + math.log(0.1), rel=2e-3)
    assert search.n_asked <= 3


def test_the_peak_of_good_requests_a_second_is_found() -> None:
    rates = np.linspace(0.5, 9.99, 200)
    best = max(rates, key=lambda rate: rate * mm1(rate))
    search = Search(mm1, guide=(rates, [mm1(rate) for rate in rates]), limit_rps=10.0)
    rate, flow = search.peak()
    assert rate == pytest.approx(best, rel=0.02)
    assert flow == pytest.approx(best * mm1(best), rel=1e-3)


def test_above_the_limit_goodput_is_zero() -> None:
    search = Search(mm1, limit_rps=10.0)
    assert search.at(10.0) == search.at(12.0) == 0.0
    search.at(5.0)
    assert search.between([5.0, 10.0]).tolist() == pytest.approx([mm1(5.0), 0.0])


def test_beyond_the_end_of_a_guide_the_curve_itself_is_asked() -> None:
    rates = np.linspace(1.0, 8.0, 40)
    search = Search(lambda rate: 1 / (1 + math.exp(0.5 * rate - 8)), guide=(rates, np.ones(40)))
    search.reach(0.9)
    assert search.crossing(0.9, rtol=3e-3) == pytest.approx(2 * (8 - math.log(9)), rel=4e-3)
    assert search.n_asked <= 5


@pytest.mark.parametrize(("last", "why"), [(9.0, "no answer at .*: ends here"), (1e9, "still at least 0.9")])
def test_the_end_of_what_is_known_is_not_taken_for_a_knee(last: float, why: str) -> None:
    def good(rate: float) -> float:
        if rate > last:
            raise ConfigError("ends here")
        return 0.95

    search = Search(good, guide=([4.0, 8.0], [1.0, 1.0]))
    with pytest.raises(ConvergenceError, match=why):
        search.reach(0.9)


@pytest.mark.parametrize("rates", [[], [2.0, 1.0], [0.0, 1.0]])
def test_a_guide_without_increasing_rates_is_refused(rates: list[float]) -> None:
    with pytest.raises(ConfigError, match="guide"):
        Search(mm1, guide=(rates, [0.5] * len(rates)))


def test_a_guide_that_is_far_off_and_falls_at_another_rate_is_left_behind() -> None:
    rates = np.linspace(1.0, 20.0, 60)
    guide = rates, 1 / (1 + np.exp(0.9 * rates - 13))
    search = Search(lambda rate: 1 / (1 + math.exp(0.5 * rate - 5)), guide=guide)
    assert search.crossing(0.9, rtol=3e-3) == pytest.approx(2 * (5 - math.log(9)), rel=4e-3)
    assert search.n_asked <= 4
