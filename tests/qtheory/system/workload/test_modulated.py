"""Arrivals at changing rates: against theory, against the rates asked for, and across mean rates."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.laws.map_process import MarkovianArrivals
from qtheory.system.workload import (
    DayArrivals,
    GammaArrivals,
    MmppArrivals,
    PoissonArrivals,
    ProfileArrivals,
    Workload,
    find_profile,
    parse_arrivals,
)

MMPP = MmppArrivals(rates=[1, 5], mean_s=[6, 2])
THREE = MmppArrivals(rates=[0, 2, 7], mean_s=[3, 5, 1])
DAY = DayArrivals(peak_to_mean=1.8, period_s=60.0)
STEPS = ProfileArrivals(rates=[2.0, 0.0, 5.0, 1.0], lengths_s=[10.0, 20.0, 5.0, 15.0])
ALL = [
    MMPP,
    THREE,
    DAY,
    DayArrivals(period_s=60.0, start_s=47.0, cv=0.5, client_cap=3),
    STEPS,
    ProfileArrivals(rates=[2.0, 0.0, 5.0], lengths_s=[10.0, 20.0, 5.0], start_s=33.0, cv=2.0),
]
every = pytest.mark.parametrize("arrivals", ALL, ids=str)
deterministic = pytest.mark.parametrize("arrivals", ALL[2:], ids=str)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def work_done(arrivals: DayArrivals | ProfileArrivals, times: np.ndarray) -> np.ndarray:
    """Integral of the relative rate from the start to each time, by its definition."""
    at = times + arrivals.start_s

    def from_zero(t: np.ndarray) -> np.ndarray:
        if isinstance(arrivals, DayArrivals):
            swing, turn = arrivals.peak_to_mean - 1, 2 * np.pi / arrivals.period_s
            return t + swing * (1 - np.cos(turn * t)) / turn
        edges = np.concatenate([[0.0], np.cumsum(arrivals.lengths_s)])
        done = np.concatenate([[0.0], np.cumsum(np.multiply(arrivals.rates, arrivals.lengths_s))])
        rounds, rest = np.divmod(t, edges[-1])
        return (rounds * done[-1] + np.interp(rest, edges, done)) / arrivals.own_rate_rps

    return from_zero(at) - from_zero(np.array([arrivals.start_s]))


@every
def test_the_text_reads_back_as_the_same_value(arrivals):
    assert parse_arrivals(str(arrivals)) == arrivals


@every
def test_equal_generators_give_equal_bytes_and_a_longer_call_begins_with_them(arrivals):
    times = arrivals.arrival_times(rng(5), 3.0, n=400)
    assert times.tobytes() == arrivals.arrival_times(rng(5), 3.0, n=400).tobytes()
    assert times.tobytes() == arrivals.arrival_times(rng(5), 3.0, n=5000)[:400].tobytes()
    assert times.tobytes() != arrivals.arrival_times(rng(6), 3.0, n=400).tobytes()


@every
def test_a_window_holds_all_arrivals_before_its_end_and_no_other(arrivals):
    times = arrivals.arrival_times(rng(), 5.0, duration_s=200.0)
    more = arrivals.arrival_times(rng(), 5.0, n=len(times) + 1)
    assert times.tobytes() == more[:-1].tobytes()
    assert times[-1] < 200.0 <= more[-1]
    assert times[0] >= 0
    assert np.all(np.diff(times) >= 0)


@every
def test_a_workload_takes_them_and_leaves_the_lengths_alone(arrivals):
    lengths = find_profile("chat").lengths
    base = Workload(name="x", lengths=lengths, rate_rps=2.0, n_requests=50)
    other = Workload(name="x", lengths=lengths, rate_rps=2.0, n_requests=50, arrivals=arrivals)
    assert base.generate(rng()).prompt_tokens.tolist() == other.generate(rng()).prompt_tokens.tolist()
    assert other.at_rate(4.0).offered_rps == 4.0


@deterministic
@pytest.mark.parametrize("rate_rps", [0.01, 1.0, 40.0])
def test_the_work_done_at_arrivals_is_that_of_a_clock_of_rate_one(arrivals, rate_rps):
    times = arrivals.arrival_times(rng(2), rate_rps, n=3000)
    clock = GammaArrivals(cv=arrivals.cv).arrival_times(rng(2), 1.0, n=3000)
    assert rate_rps * work_done(arrivals, times) == pytest.approx(clock, rel=1e-11, abs=1e-11)


def test_a_rate_that_does_not_change_is_poisson():
    poisson = PoissonArrivals().arrival_times(rng(), 7.0, n=1000)
    for arrivals in (
        DayArrivals(peak_to_mean=1.0),
        ProfileArrivals(rates=[3.0], lengths_s=[5.0]),
        MmppArrivals(rates=[2, 2], mean_s=[1, 9]),
    ):
        times = arrivals.arrival_times(rng(), 7.0, n=1000)
        if not isinstance(arrivals, MmppArrivals):  # which draws its phases first
            assert times == pytest.approx(poisson, rel=1e-12)
        assert arrivals.dispersion(7.0) == pytest.approx(1.0)


@pytest.mark.parametrize("arrivals", [DAY, STEPS], ids=str)
def test_counts_in_each_part_of_the_period_follow_the_rate(arrivals):
    period_s = 60.0 if isinstance(arrivals, DayArrivals) else 50.0
    n_periods, n_parts = 1000, 20
    times = arrivals.arrival_times(rng(4), 6.0, duration_s=n_periods * period_s)
    counts = np.histogram(times % period_s, bins=n_parts, range=(0, period_s))[0]
    edges = np.linspace(0, period_s, n_parts + 1)
    edges[-1] -= 1e-9
    expected = 6.0 * n_periods * np.diff(work_done(arrivals, edges))
    assert np.all(np.abs(counts - expected) <= 4 * np.sqrt(expected) + 1e-3)


def test_a_start_within_the_profile_begins_with_what_is_on_then():
    later = ProfileArrivals(rates=[2.0, 0.0, 5.0], lengths_s=[10.0, 20.0, 5.0], start_s=12.0)
    times = later.arrival_times(rng(), 100.0, duration_s=30.0)
    assert 18.0 <= times[0] < 18.2  # silent until 30 s of the profile, 18 s from the start
    around = ProfileArrivals(rates=later.rates, lengths_s=later.lengths_s, start_s=12.0 + 35.0)
    assert around.arrival_times(rng(), 100.0, duration_s=30.0) == pytest.approx(times, abs=1e-9)


@pytest.mark.parametrize("arrivals", [MMPP, THREE], ids=str)
@pytest.mark.parametrize("window_s", [2.0, 25.0])
def test_counts_of_an_mmpp_have_the_mean_and_the_dispersion_of_theory(arrivals, window_s):
    rate_rps, runs, source = 4.0, 2000, rng(11)
    counts = np.array(
        [len(arrivals.arrival_times(source, rate_rps, duration_s=window_s)) for _ in range(runs)], dtype=float
    )
    mean = rate_rps * window_s
    var = mean * arrivals.dispersion(rate_rps, window_s)
    assert abs(counts.mean() - mean) <= 4 * np.sqrt(var / runs)
    squares = (counts - mean) ** 2
    assert abs(squares.mean() - var) <= 4 * squares.std() / np.sqrt(runs)
    assert var > 1.5 * mean


def test_the_dispersion_of_two_phases_is_the_one_of_the_textbook():
    low, high, leave_low, leave_high = 2.0, 10.0, 1 / 6, 1 / 2  # twice the rates of MMPP, mean 4
    total, mean = leave_low + leave_high, 4.0
    extra = 2 * (high - low) ** 2 * leave_low * leave_high / (total**3 * mean)
    assert MMPP.dispersion(4.0) == pytest.approx(1 + extra)
    t = 3.0
    curve = 1 - (1 - np.exp(-total * t)) / (total * t)
    assert MMPP.dispersion(4.0, t) == pytest.approx(1 + extra * curve)
    assert MMPP.dispersion(4.0, 1e-6) == pytest.approx(1.0, abs=1e-4)


def test_gaps_of_an_mmpp_follow_their_law():
    rate_rps, window_s, runs, source = 4.0, 50.0, 2000, rng(12)
    sums = np.zeros((runs, 2))
    for run in range(runs):
        times = MMPP.arrival_times(source, rate_rps, n=1500)
        here = times < window_s  # the gap after each arrival in the window: Campbell's formula
        assert not here[-1]
        gaps = np.diff(times)[here[:-1]]
        sums[run] = gaps.sum(), (gaps**2).sum()
    law = MMPP.gap_law(rate_rps)
    assert law.mean == pytest.approx(1 / rate_rps)
    expected = rate_rps * window_s * np.array([law.mean, law.moment(2)])
    assert np.all(np.abs(sums.mean(axis=0) - expected) <= 4 * sums.std(axis=0) / np.sqrt(runs))


def test_an_mmpp_is_the_markovian_process_of_the_same_rates():
    process = MMPP.process(4.0)
    assert process == MarkovianArrivals.modulated_poisson(rates_rps=[2.0, 10.0], leave_per_s=[1 / 6, 1 / 2])
    assert process.rate_rps == pytest.approx(4.0)


def test_another_rate_leaves_the_busy_times_where_they_are():
    on_off = MmppArrivals(rates=[0, 1], mean_s=[50, 50])

    def busy_from(rate_rps: float) -> np.ndarray:
        times = on_off.arrival_times(rng(3), rate_rps, duration_s=2000.0)
        return times[1:][np.diff(times) > 1.0]

    slow, fast = busy_from(200.0), busy_from(800.0)
    assert len(slow) == len(fast) > 8
    assert slow == pytest.approx(fast, abs=0.1)


def test_more_requests_than_the_mean_rate_makes_expect_still_fill_the_window():
    peak = ProfileArrivals(rates=[1000.0, 0.0], lengths_s=[100.0, 99_900.0])
    times = peak.arrival_times(rng(), 1.0, duration_s=50.0)
    assert abs(len(times) - 50_000) <= 4 * np.sqrt(50_000)
    silent = ProfileArrivals(rates=[0.0, 1.0], lengths_s=[100.0, 100.0])
    assert len(silent.arrival_times(rng(), 5.0, duration_s=50.0)) == 0


def test_arrivals_that_have_no_law_of_gaps_say_so():
    for arrivals in (DAY, STEPS):
        assert arrivals.dispersion(2.0) == 1.0
        with pytest.raises(ConfigError, match="only the simulator takes them"):
            _ = arrivals.scv
        with pytest.raises(ConfigError, match="rate that changes with time"):
            arrivals.gap_law(2.0)
    with pytest.raises(ConfigError, match="gap_law"):
        _ = MMPP.scv
    assert GammaArrivals(cv=2.0).dispersion(3.0) == 4.0


def test_the_mean_of_a_profile_is_its_own_rate_and_the_others_have_none():
    assert STEPS.own_rate_rps == pytest.approx(60.0 / 50.0)
    assert [a.own_rate_rps for a in (MMPP, DAY, PoissonArrivals())] == [None, None, None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mmp(rates=[1, 2], mean_s=[1, 2])", "unknown 'mmp' (did you mean 'mmpp'?)"),
        ("mmpp", "mmpp: rates is needed; mmpp(rates, mean_s, [client_cap])"),
        ("mmpp(rates=[1, 2])", "mmpp: mean_s is needed"),
        ("mmpp(rates=1, mean_s=2)", "mmpp: rates: numbers in brackets are needed, such as [1, 5]"),
        ("mmpp(rates=[1, [2]], mean_s=[1, 2])", "mmpp: rates: numbers in brackets"),
        ("mmpp(rates=[1, -2], mean_s=[1, 2])", "mmpp: rates[1]: -2 must be >= 0"),
        ("mmpp(rates=[1, 2], mean_s=[1, 0])", "mmpp: mean_s[1]: 0 must be > 0"),
        ("mmpp(rates=[1, 2], mean_s=[1])", "mmpp: rates, mean_s: 2 and 1 numbers; give two or more"),
        ("mmpp(rates=[1], mean_s=[1])", "give two or more of each"),
        ("mmpp(rates=[0, 0], mean_s=[1, 2])", "mmpp: rates: all are 0"),
        ("mmpp(rate=[1, 2], mean_s=[1, 2])", "unknown parameter 'rate' (did you mean 'rates'?)"),
        ("day(peak_to_mean=2.5)", "day: peak_to_mean: 2.5 must be between 1 and 2"),
        ("day(peak_to_mean=[2])", "day: peak_to_mean: a finite number is needed"),
        ("day(peek_to_mean=2)", "unknown parameter 'peek_to_mean' (did you mean 'peak_to_mean'?)"),
        ("day(period_s=0)", "day: period_s: 0 must be > 0"),
        ("day(start_s=-1)", "day: start_s: -1 must be >= 0"),
        ("day(cv=0)", "day: cv: 0 must be > 0"),
        ("profile", "profile: a file is needed; profile(FILE, [workload]"),
        ("profile()", "profile: rates is needed; profile(FILE, [workload]"),
        ("profile(rates=[1, 2], lengths_s=[1])", "profile: rates, lengths_s: 2 and 1 numbers"),
        ("profile(rates=[0], lengths_s=[1])", "profile: rates: all are 0"),
        ("profile(rates=[1], lengths_s=[1], workload=x)", "unknown parameter 'workload'"),
        ("profile(none.csv)", "profile: none.csv: no such file"),
        ("profile('none.csv', start_s=x)", "profile: start_s: a finite number is needed"),
        ("profile(none.csv, start=4)", "profile: unknown parameter 'start' (did you mean 'start_s'?)"),
        ("profile(none.csv, other.csv)", "'other.csv' needs a name"),
        ("profile(none.csv, cv=1, cv=2)", "cv is given twice"),
        ("profile(none.csv, )", "has an empty part"),
        ("profile('none.csv)", "a quote ' is not closed"),
        ("profile(none.csv", "has no closing bracket"),
        ("profle(none.csv)", "unknown 'profle' (did you mean 'profile'?)"),
    ],
)
def test_a_mistake_is_told_in_one_line(text, message):
    with pytest.raises(ConfigError) as caught:
        parse_arrivals(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith("arrivals: ")
    assert "\n" not in str(caught.value)


def test_phases_too_short_to_count_are_refused():
    quick = MmppArrivals(rates=[1, 2], mean_s=[1e-9, 1e-9])
    with pytest.raises(ConfigError, match=r"mean_s: about .* phases pass, more than 50,000,000"):
        quick.arrival_times(rng(), 1.0, n=100)


def test_lists_and_tuples_make_equal_values():
    assert MmppArrivals(rates=[1, 5], mean_s=[6, 2]) == MmppArrivals(rates=(1.0, 5.0), mean_s=(6, 2))
    assert hash(MMPP) == hash(MmppArrivals(rates=(1, 5), mean_s=(6, 2)))
