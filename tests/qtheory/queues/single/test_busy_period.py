"""Busy periods: Takacs' equation against branching simulation, Borel's law and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ive

from qtheory.basics.errors import ConfigError, ConvergenceError, UnstableError
from qtheory.laws import Constant, Discrete, Erlang, Exponential, Gamma, Law, Pareto, Uniform
from qtheory.queues.single import BorelTime, BusyPeriod, takacs


def simulated(rate: float, service: Law, initial: Law, n: int, seed: int) -> np.ndarray:
    """Busy periods: all work generations at once, each second of work brings Poisson arrivals."""
    rng = np.random.default_rng(seed)
    total = np.asarray(initial.sample(rng, n), dtype=float)
    fresh = total.copy()
    while fresh.any():
        born = rng.poisson(rate * fresh)
        sizes = np.asarray(service.sample(rng, int(born.sum())), dtype=float)
        fresh = np.bincount(np.repeat(np.arange(n), born), sizes, minlength=n)
        total += fresh
    return total


@pytest.mark.parametrize("initial", [None, Constant(value=2.0), Uniform(low=0.0, high=3.0)], ids=str)
@pytest.mark.parametrize(
    "service", [Exponential(mean=1.0), Erlang(k=3, mean=0.8), Gamma(mean=1.0, cv=1.5)], ids=str
)
def test_mean_variance_and_law_agree_with_simulation(service: Law, initial: Law | None) -> None:
    rate, n = 0.6, 200_000
    answer = BusyPeriod(rate_rps=rate, service=service, initial=initial).solve()
    drawn = simulated(rate, service, initial or service, n, seed=3)
    assert abs(drawn.mean() - answer.mean_busy_period_s) < 4 * drawn.std() / np.sqrt(n)
    for q in (0.5, 0.9, 0.99):
        late = float(answer.busy_period.ppf(q)) * 1.0001
        wanted = float(answer.busy_period.sf(late))
        assert abs((drawn > late).mean() - wanted) < 4 * np.sqrt(wanted * (1 - wanted) / n) + 1e-4


@settings(max_examples=30)
@given(st.floats(0.02, 0.999), st.floats(1e-9, 1e9))
def test_mm1_has_the_bessel_law(load: float, scale: float) -> None:
    answer = BusyPeriod(rate_rps=load / scale, service=Exponential(mean=scale)).solve()
    t = np.linspace(1e-9, 3.0, 4001)
    root = np.sqrt(load)
    density = np.exp(-t * (1 - root) ** 2) * ive(1, 2 * t * root) / (t * root)
    wanted = 1 - np.trapezoid(density, t)
    assert float(answer.busy_period.sf(3.0 * scale)) == pytest.approx(wanted, abs=1e-6)
    assert answer.var_busy_period_s2 == pytest.approx(scale**2 * (1 + load) / (1 - load) ** 3)


@settings(max_examples=30)
@given(st.floats(0.05, 0.95))
def test_constant_service_is_borel_and_between_the_jumps_the_transform_agrees(load: float) -> None:
    borel = BorelTime(load=load, service_s=1.0)
    # two nearly equal sizes: no special case, inverted
    near = BusyPeriod(rate_rps=load, service=Uniform(low=0.98, high=1.02)).solve()
    assert float(near.busy_period.sf(1.5)) == pytest.approx(float(borel.sf(1.5)), abs=2e-3)
    assert BusyPeriod(rate_rps=load, service=Constant(value=1.0)).solve().busy_period == borel


@given(st.floats(0.05, 0.9))
def test_borels_law_has_its_moments(load: float) -> None:
    law = BorelTime(load=load, service_s=2.0)
    n = np.arange(5000)
    tail = law.sf(2.0 * n + 0.5)
    assert 2 * tail.sum() == pytest.approx(law.mean_s, rel=1e-6)
    second = 4 * ((2 * n + 1) * tail).sum()
    assert second - law.mean_s**2 == pytest.approx(law.var_s2, rel=1e-4)
    q = float(law.ppf(0.9))
    assert float(law.sf(q)) <= 0.1 < float(law.sf(q - 1.0))


def test_at_the_edge_of_stability_the_iteration_still_converges() -> None:
    s = np.array([1e-9, 1e-6 + 1e-5j, 1.0 + 200j])
    theta = takacs(s, 1 - 1e-9, lambda z: 1 / (1 + z))
    assert np.abs(theta - 1 / (1 + s + (1 - 1e-9) * (1 - theta))).max() < 1e-12


def test_a_service_without_second_moment_has_a_mean_but_no_variance() -> None:
    answer = BusyPeriod(rate_rps=0.5, service=Pareto(alpha=1.5, low=0.3)).solve()
    assert answer.var_busy_period_s2 is None
    assert answer.mean_busy_period_s == pytest.approx(0.9 / (1 - 0.45))
    with pytest.raises(ConfigError, match="second moment"):
        _ = answer.busy_period.var_s2


def test_atoms_keep_the_percentiles_between_jumps() -> None:
    service = Discrete(values=[1.0, 2.5], probs=[0.5, 0.5])
    answer = BusyPeriod(rate_rps=0.3, service=service).solve()
    drawn = simulated(0.3, service, service, 200_000, seed=5)
    assert float(answer.busy_period.sf(1.7)) == pytest.approx((drawn > 1.7).mean(), abs=4e-3)


def test_overload_and_absurd_percentiles_are_refused() -> None:
    with pytest.raises(UnstableError):
        BusyPeriod(rate_rps=2.0, service=Exponential(mean=1.0)).solve()
    with pytest.raises(ConvergenceError, match="ask for less"):
        BorelTime(load=1 - 1e-9, service_s=1.0).ppf(1 - 1e-9)
