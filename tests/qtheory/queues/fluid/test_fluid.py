"""Fluid backlog, finite horizons and rates that change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant, Erlang, Exponential, Gamma, Law, Lognormal, Uniform
from qtheory.queues.fluid import FiniteHorizon, FluidQueue, MtGInf, SineMtGInf
from qtheory.queues.single import MG1, MM1Transient
from tests.qtheory.queues.simulated import fcfs_waits

RATES = st.lists(st.floats(0.0, 4.0), min_size=1, max_size=6).filter(lambda rates: max(rates) > 0.01)


@settings(max_examples=30)
@given(RATES)
def test_the_backlog_is_a_reflected_walk(rates: list[float]) -> None:
    times = list(range(0, 3 * len(rates) + 1, 3))
    queue = FluidQueue(times_s=times, rates_rps=rates, mean_service_s=0.8)
    steps, work, path = 2000, 0.0, [0.0]
    h = times[-1] / steps
    for i in range(steps):
        rate = rates[min(int((i + 0.5) * h / 3), len(rates) - 1)]
        work = max(work + (rate * 0.8 - 1) * h, 0.0)
        path.append(work)
    grid = np.linspace(0, times[-1], steps + 1)
    assert queue.wait_at_s(grid) == pytest.approx(np.array(path), abs=0.05)
    come = np.array([rates[min(int((i + 0.5) * h / 3), len(rates) - 1)] for i in range(steps)])
    middle = (np.array(path)[1:] + np.array(path)[:-1]) / 2
    answer = queue.solve()
    assert answer.mean_wait_s == pytest.approx(come @ middle / come.sum(), abs=0.05)
    assert queue.in_time_frac(0.5) == pytest.approx(come @ (middle <= 0.5) / come.sum(), abs=0.05)
    served = (come.sum() * h * 0.8 - path[-1]) / times[-1]
    assert answer.utilization_frac == pytest.approx(served, abs=0.05)


def test_after_the_end_the_backlog_drains() -> None:
    queue = FluidQueue(times_s=[0.0, 10.0], rates_rps=[2.0], mean_service_s=1.0)
    assert queue.wait_at_s([-1.0, 0.0, 10.0, 14.0, 30.0]).tolist() == [0.0, 0.0, 10.0, 6.0, 0.0]
    assert queue.in_time_frac(1e9) == 1.0
    assert queue.in_time_frac(0.0) == 0.0


@pytest.mark.parametrize(
    ("times", "rates", "words"),
    [
        ([0.0, 1.0], [1.0, 2.0], "one time more than rates"),
        ([0.0, 1.0, 0.5], [1.0, 2.0], "times must increase"),
        ([0.0, 1.0], [-1.0], "rates_rps: -1"),
        ([0.0, 1.0], [0.0], "at least one must be > 0"),
        ([-1.0, 1.0], [1.0], "times_s"),
    ],
)
def test_bad_rates_are_refused(times: list[float], rates: list[float], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        FluidQueue(times_s=times, rates_rps=rates, mean_service_s=1.0)
    with pytest.raises(ConfigError, match=words):
        MtGInf(times_s=times, rates_rps=rates, service=Exponential(mean=1.0))


@pytest.mark.parametrize(
    ("rate", "service", "limit"),
    [
        (0.9, Exponential(mean=1.0), 5.0),
        (1.0, Constant(value=1.0), 5.2),
        (1.3, Lognormal(mean=1.0, cv=1.5), 8.0),
        (2.0, Uniform(low=0.5, high=1.5), 20.0),
    ],
    ids=str,
)
def test_a_finite_run_from_empty_agrees_with_simulation(rate: float, service: Law, limit: float) -> None:
    horizon, reps = 60.0, 3000
    rng = np.random.default_rng(6)
    n = int(rate * horizon + 10 * np.sqrt(rate * horizon) + 10)
    gaps = rng.exponential(1 / rate, (reps, n))
    when = np.cumsum(gaps, axis=1)
    waits = fcfs_waits(gaps, np.asarray(service.sample(rng, (reps, n)), dtype=float))
    inside = when <= horizon
    queue = FiniteHorizon(rate_rps=rate, service=service, horizon_s=horizon)
    answer = queue.solve()
    total = (waits * inside).sum(axis=1) / (rate * horizon)
    early = ((waits <= limit) & inside).sum(axis=1) / (rate * horizon)
    for found, wanted in ((total, answer.mean_wait_s), (early, queue.in_time_frac(limit))):
        assert abs(found.mean() - wanted) < 4 * found.std(ddof=1) / np.sqrt(reps)


@given(st.floats(0.3, 2.0), st.floats(1.0, 300.0))
def test_the_mean_work_of_mm1_is_the_mean_number(load: float, time: float) -> None:
    work = FiniteHorizon(rate_rps=load, service=Exponential(mean=1.0), horizon_s=time).solve().final_wait_s
    number = MM1Transient(rate_rps=load, service_rate_rps=1.0, time_s=time).mean_number()
    assert work == pytest.approx(number, rel=1e-6)  # near load 1 the transient mean is good to 2e-7


@given(st.floats(0.05, 0.95))
def test_a_long_horizon_is_the_steady_state(load: float) -> None:
    service = Gamma(mean=1.0, cv=1.2)
    answer = FiniteHorizon(rate_rps=load, service=service, horizon_s=1e9).solve()
    steady = MG1(rate_rps=load, service=service).solve()
    assert answer.final_wait_s == pytest.approx(steady.mean_wait_s, rel=1e-6)
    assert answer.mean_wait_s == pytest.approx(steady.mean_wait_s, rel=1e-5)


@settings(max_examples=15)
@given(st.floats(0.2, 3.0), st.floats(1e-9, 1e9))
def test_the_unit_of_time_does_not_matter(load: float, scale: float) -> None:
    service = Erlang(k=2, mean=1.0)
    one = FiniteHorizon(rate_rps=load, service=service, horizon_s=40.0)
    other = FiniteHorizon(rate_rps=load / scale, service=service.scaled(scale), horizon_s=40.0 * scale)
    assert other.solve().mean_wait_s == pytest.approx(scale * one.solve().mean_wait_s, rel=1e-8)
    assert other.in_time_frac(3.0 * scale) == pytest.approx(one.in_time_frac(3.0), abs=1e-5)


def test_overload_becomes_the_fluid() -> None:
    random = FiniteHorizon(rate_rps=3.0, service=Erlang(k=4, mean=1.0), horizon_s=5000.0)
    fluid = FluidQueue(times_s=[0.0, 5000.0], rates_rps=[3.0], mean_service_s=1.0)
    assert random.solve().mean_wait_s == pytest.approx(fluid.solve().mean_wait_s, rel=1e-3)
    assert random.in_time_frac(4000.0) == pytest.approx(fluid.in_time_frac(4000.0), abs=2e-3)


@pytest.mark.parametrize(
    "service", [Exponential(mean=2.0), Constant(value=3.0), Uniform(low=1.0, high=4.0)], ids=str
)
def test_a_server_for_everybody_follows_the_rate(service: Law) -> None:
    times, rates = [0.0, 4.0, 6.0, 10.0], [3.0, 0.0, 8.0]
    queue = MtGInf(times_s=times, rates_rps=rates, service=service)
    for t in (1.0, 4.0, 5.5, 9.0, 12.0):
        u = np.linspace(0, min(t, 10.0), 40_001)
        rate = np.select([u < 4, u < 6, u < 10], rates, 0.0)
        wanted = np.trapezoid(rate * np.asarray(service.sf(t - u)), u)
        assert float(queue.mean_number(t)) == pytest.approx(wanted, rel=1e-3, abs=1e-6)
    assert queue.number_cdf(0, 1.0) == pytest.approx(np.exp(-float(queue.mean_number(1.0))))


@settings(max_examples=30)
@given(st.floats(0.0, 1.0), st.floats(0.5, 100.0))
def test_a_sine_is_a_very_fine_staircase(swing: float, period: float) -> None:
    service = Gamma(mean=2.0, cv=0.9)
    sine = SineMtGInf(mean_rate_rps=5.0, swing_frac=swing, period_s=period, service=service)
    age = np.linspace(0, 60.0, 30_001)
    t = 0.3 * period
    rate = 5.0 * (1 + swing * np.sin(2 * np.pi * (t - age) / period))
    wanted = np.trapezoid(rate * np.asarray(service.sf(age)), age)
    assert float(sine.mean_number(t)) == pytest.approx(wanted, rel=1e-4)
    peak = sine.mean_number(np.linspace(0, period, 4001)).max()
    assert sine.peak_number == pytest.approx(peak, rel=1e-5)


def test_slow_swings_are_followed_with_the_lag_of_the_mean_excess() -> None:
    sine = SineMtGInf(mean_rate_rps=5.0, swing_frac=0.5, period_s=1e5, service=Constant(value=4.0))
    assert sine.lag_s == pytest.approx(2.0, rel=1e-6)
    with pytest.raises(ConfigError, match="swing_frac"):
        SineMtGInf(mean_rate_rps=5.0, swing_frac=1.5, period_s=10.0, service=Constant(value=4.0))
