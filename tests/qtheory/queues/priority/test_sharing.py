"""Processor sharing: against simulation, the tagged customer's chain and first come first served."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import eigh_tridiagonal

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.laws import Constant, Discrete, Exponential, Gamma, Law, Lognormal, Uniform
from qtheory.queues.priority import MM1PS, LimitedProcessorSharing, ProcessorSharing
from qtheory.queues.single import MG1
from tests.qtheory.queues.ranked import share_equally


@lru_cache(maxsize=4)
def tagged_chain(load: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    k = np.arange(1, n)
    return eigh_tridiagonal(np.full(n, -(1 + load)), np.sqrt(load * k / (k + 1)))


def tagged_tail(load: float, t: float, n: int = 1500) -> float:
    """P(T > t) in M/M/1-PS from the chain of the others present, by its eigenvalues."""
    k = np.arange(n)
    values, vectors = tagged_chain(load, n)
    # all of this in the symmetric form, scaled so that nothing underflows
    start = (1 - load) * load ** (k / 2) / np.sqrt(k + 1.0)
    end = load ** (k / 2) * np.sqrt(k + 1.0)
    return float((start @ vectors) * np.exp(values * t) @ (end @ vectors))


@pytest.mark.parametrize("load", [0.3, 0.7, 0.9])
@pytest.mark.parametrize("t", [0.0, 0.5, 4.0, 20.0])
def test_the_mixture_of_exponentials_is_the_tagged_customers_chain(load: float, t: float) -> None:
    law = MM1PS(rate_rps=load, service_rate_rps=1.0).solve().response
    assert float(law.sf(t)) == pytest.approx(tagged_tail(load, t), abs=1e-10)


@given(st.floats(1e-6, 1 - 1e-6), st.floats(1e-9, 1e9))
def test_mean_and_variance_hold_at_any_load_and_unit(load: float, scale: float) -> None:
    answer = MM1PS(rate_rps=load / scale, service_rate_rps=1 / scale).solve()
    assert answer.response.mean_s == pytest.approx(answer.mean_response_s, rel=1e-8)
    assert answer.response.var_s2 == pytest.approx(answer.var_response_s2, rel=1e-7)
    assert answer.mean_response_s == pytest.approx(scale / (1 - load), rel=1e-9)


def simulated(rate: float, law: Law, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(1 / rate, n))
    sizes = np.asarray(law.sample(rng, n), dtype=float)
    return sizes, share_equally(arrivals, sizes) - arrivals


@pytest.mark.parametrize(
    "law",
    [Exponential(mean=1.0), Uniform(low=0.2, high=1.8), Discrete(values=[0.5, 3.0], probs=[0.8, 0.2])],
    ids=str,
)
def test_means_and_variances_agree_with_simulation(law: Law) -> None:
    rate = 0.7 / law.mean
    queue = ProcessorSharing(rate_rps=rate, service=law)
    runs = [simulated(rate, law, 15_000, seed) for seed in range(14)]
    rows = np.array([[r.mean(), r.var(), (r / s).mean()] for s, r in runs])
    error = rows.std(axis=0, ddof=1) / np.sqrt(len(runs))
    wanted = [queue.solve().mean_response_s, queue.var_response_s2(), queue.solve().mean_slowdown]
    assert np.all(np.abs(rows.mean(axis=0) - wanted) < 4 * error)


def test_the_law_given_the_size_agrees_with_simulation() -> None:
    law = Exponential(mean=1.0)
    found = []
    for seed in range(14):
        sizes, response = simulated(0.6, law, 20_000, seed)
        near = np.abs(sizes - 2.0) < 0.05
        found.append([(response[near] > t).mean() for t in (2.06, 4.0, 9.0)])
    exact = MM1PS(rate_rps=0.6, service_rate_rps=1.0).response_given_size(2.0)
    rows = np.array(found)
    error = rows.std(axis=0, ddof=1) / np.sqrt(len(rows))
    assert np.all(np.abs(rows.mean(axis=0) - exact.sf([2.06, 4.0, 9.0])) < 4 * error + 0.02)


@given(st.floats(0.05, 0.95), st.floats(0.01, 20.0))
def test_the_variance_given_the_size_agrees_by_inversion_and_closed_form(load: float, size: float) -> None:
    general = ProcessorSharing(rate_rps=load, service=Exponential(mean=1.0)).var_response_given_size_s2(size)
    closed = MM1PS(rate_rps=load, service_rate_rps=1.0).var_response_given_size_s2(size)
    assert general == pytest.approx(closed, rel=1e-6)


@given(st.floats(0.1, 0.9), st.floats(1e-9, 1e9))
def test_the_unit_of_time_does_not_matter(load: float, scale: float) -> None:
    law = Gamma(mean=1.0, cv=1.5)
    one = ProcessorSharing(rate_rps=load, service=law).var_response_given_size_s2(2.0)
    other = ProcessorSharing(rate_rps=load / scale, service=law.scaled(scale)).var_response_given_size_s2(
        2 * scale
    )
    assert other == pytest.approx(one * scale**2, rel=1e-7)


def test_the_mean_does_not_depend_on_the_law() -> None:
    means = [
        ProcessorSharing(rate_rps=0.8, service=law).solve().mean_response_s
        for law in (Constant(value=1.0), Exponential(mean=1.0), Lognormal(mean=1.0, cv=4.0))
    ]
    assert means == pytest.approx([5.0] * 3)


@given(st.floats(0.05, 0.95), st.floats(0.2, 3.0))
def test_a_limit_of_one_is_first_come_first_served_and_no_limit_is_sharing(load: float, cv: float) -> None:
    law = Gamma(mean=1.0, cv=cv)
    one = LimitedProcessorSharing(rate_rps=load, service=law, limit=1).solve()
    many = LimitedProcessorSharing(rate_rps=load, service=law, limit=10_000).solve()
    assert one.mean_response_s == pytest.approx(MG1(rate_rps=load, service=law).solve().mean_response_s)
    assert many.mean_response_s == pytest.approx(1 / (1 - load), rel=1e-6)


def test_the_exponential_needs_no_approximation() -> None:
    answer = LimitedProcessorSharing(rate_rps=0.8, service=Exponential(mean=1.0), limit=5).solve()
    assert answer.exactness == "exact"
    assert answer.mean_response_s == pytest.approx(5.0)


def test_overload_and_bad_values_are_refused() -> None:
    with pytest.raises(UnstableError, match="raise service_rate_rps"):
        MM1PS(rate_rps=1.0, service_rate_rps=1.0).solve()
    with pytest.raises(UnstableError):
        ProcessorSharing(rate_rps=1.0, service=Exponential(mean=1.0)).solve()
    with pytest.raises(ConfigError, match="limit"):
        LimitedProcessorSharing(rate_rps=0.5, service=Exponential(mean=1.0), limit=0)
    with pytest.raises(ConfigError, match="size_s"):
        MM1PS(rate_rps=0.5, service_rate_rps=1.0).mean_response_given_size_s(-1.0)
