"""Arrival processes: patterns, rates, texts."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.workload import (
    ClosedLoop,
    ConstantArrivals,
    GammaArrivals,
    PoissonArrivals,
    Replay,
    parse_arrivals,
)

OPEN = [PoissonArrivals(), GammaArrivals(cv=2.0), GammaArrivals(cv=0.3), ConstantArrivals()]
ALL = [*OPEN, PoissonArrivals(client_cap=440), ClosedLoop(concurrency=64, think_s=0.5), Replay(speed=2.5)]
every_open = pytest.mark.parametrize("arrivals", OPEN, ids=str)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("arrivals", ALL, ids=str)
def test_the_text_of_arrivals_reads_back_as_the_same_value(arrivals):
    assert parse_arrivals(str(arrivals)) == arrivals


@every_open
def test_a_window_holds_all_arrivals_before_its_end_and_no_other(arrivals):
    times = arrivals.arrival_times(rng(), 5.0, duration_s=20.0)
    more = arrivals.arrival_times(rng(), 5.0, n=len(times) + 1)
    assert times.tobytes() == more[:-1].tobytes()
    assert times[-1] < 20.0 <= more[-1]
    assert times[0] >= 0
    assert np.all(np.diff(times) >= 0)


@every_open
def test_another_rate_stretches_the_same_pattern(arrivals):
    slow, fast = arrivals.arrival_times(rng(3), 1.0, n=500), arrivals.arrival_times(rng(3), 8.0, n=500)
    assert slow / 8.0 == pytest.approx(fast, rel=1e-15)


@every_open
def test_gaps_have_the_mean_and_variation_that_they_claim(arrivals):
    n = 100_000
    gaps = np.diff(arrivals.arrival_times(rng(1), 4.0, n=n + 1))
    law = arrivals.gap_law(4.0)
    assert law.mean == pytest.approx(0.25)
    assert law.scv == pytest.approx(arrivals.scv)
    assert abs(gaps.mean() - 0.25) <= 4 * np.sqrt(law.var / n) + 1e-12
    fourth = law.moment(4) - 4 * law.mean * law.moment(3) + 6 * law.mean**2 * law.moment(2) - 3 * law.mean**4
    assert abs(gaps.var() - law.var) <= 4 * np.sqrt(max(fourth - law.var**2, 0.0) / n) + 1e-12


def test_constant_arrivals_start_at_zero_and_fill_the_window_exactly():
    times = ConstantArrivals().arrival_times(rng(), 10.0, duration_s=3.0)
    assert len(times) == 30
    assert times[:2].tolist() == [0.0, 0.1]


def test_very_bursty_arrivals_still_fill_a_long_window():
    arrivals = GammaArrivals(cv=30.0)
    times = arrivals.arrival_times(rng(9), 1.0, duration_s=50.0)
    assert arrivals.arrival_times(rng(9), 1.0, n=len(times) + 1)[-1] >= 50.0


def test_caps_and_concurrency_limit_what_is_in_flight():
    assert PoissonArrivals().in_flight_cap == 0
    assert parse_arrivals("constant(client_cap=440)").in_flight_cap == 440
    assert parse_arrivals("closed(64)").in_flight_cap == 64
    assert parse_arrivals("deterministic") == ConstantArrivals()
    assert parse_arrivals("trace(2)") == Replay(speed=2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("possion", "unknown 'possion' (did you mean 'poisson'?)"),
        ("gamma", "gamma: cv is needed"),
        ("gamma(cv=0)", "gamma: cv: 0 must be > 0"),
        ("gamma(cv=1e300)", "gamma: cv: 1e+300 is outside what is allowed, 1e-06 .. 1000"),
        ("gamma(cv=1e-300)", "gamma: cv: 1e-300 is outside"),
        ("day(cv=1e4)", "day: cv: 10000 is outside"),
        ("day(start_s=1e300)", "day: start_s: 1e+300 is too large; at most 1e+09"),
        ("day(period_s=1e-300)", "day: period_s: 1e-300 is outside"),
        ("mmpp(rates=[0, 1], mean_s=[1e300, 1])", "mmpp: mean_s: 1e+300 is too large"),
        ("mmpp(rates=[0, 1e300], mean_s=[1, 1])", "mmpp: rates: 1e+300 is too large"),
        ("profile(rates=[1e308, 1e308], lengths_s=[1e9, 1e9])", "profile: rates: 1e+308 is too large"),
        ("profile(rates=[1, 2], lengths_s=[1e9, 1e9])", "profile: lengths_s: 2e+09 is outside"),
        ("closed(" + "9" * 30 + ")", "closed: concurrency: 1e+30 is too large"),
        ("gamma(cv=nan)", "gamma: cv: a finite number is needed"),
        ("gamma(c=2)", "unknown parameter 'c' (did you mean 'cv'?)"),
        ("gamma(2, cv=2)", "write the parameters by name"),
        ("closed", "closed: concurrency is needed"),
        ("closed(0)", "concurrency: 0 must be a whole number >= 1"),
        ("closed(2.5)", "concurrency: 2.5 must be a whole number"),
        ("closed(4, think_s=-1)", "think_s: -1 must be >= 0"),
        ("poisson(client_cap=-1)", "client_cap: -1 must be a whole number >= 0"),
        ("replay(speed=0)", "speed: 0 must be > 0"),
        ("5", "'5' is a number"),
        ("", "cannot be read"),
    ],
)
def test_a_mistake_in_arrivals_is_told_in_one_line(text, message):
    with pytest.raises(ConfigError) as caught:
        parse_arrivals(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith("arrivals: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rate_rps": 0.0, "n": 3}, "rate_rps: 0.0 must be > 0"),
        ({"rate_rps": float("nan"), "n": 3}, "rate_rps: nan"),
        ({"rate_rps": 1.0}, "give one of the two"),
        ({"rate_rps": 1.0, "n": 3, "duration_s": 1.0}, "give one of the two"),
        ({"rate_rps": 1.0, "n": 0}, "n: 0 must be"),
        ({"rate_rps": 1.0, "duration_s": -1.0}, "duration_s: -1.0 must be > 0"),
        ({"rate_rps": 1e9, "duration_s": 1e3}, "1,000,000,000,000 requests are more than"),
        ({"rate_rps": 1e-9, "n": 3}, r"rate_rps: 1e-09 makes the arrivals last 3e\+09 s; at most 1e\+09 s"),
        ({"rate_rps": 1e-9, "duration_s": 2e9}, r"duration_s: 2e\+09 makes the arrivals last 2e\+09 s"),
    ],
)
def test_impossible_demands_on_arrival_times_are_refused(arguments, message):
    with pytest.raises(ConfigError, match=message):
        PoissonArrivals().arrival_times(rng(), **arguments)


def test_a_pause_that_outlasts_the_clock_is_refused():
    arrivals = parse_arrivals("mmpp(rates=[0, 1], mean_s=[9e8, 1e-3])")
    with pytest.raises(ConfigError, match=r"^arrivals: 'mmpp.* makes the arrivals last"):
        arrivals.arrival_times(rng(), 1.0, n=100)
