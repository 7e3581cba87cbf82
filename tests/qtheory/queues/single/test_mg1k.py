"""M/G/1/K against M/M/1/K, simulation and M/G/1."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaincc

from qtheory.basics.errors import ConfigError
from qtheory.laws import (
    Constant,
    Discrete,
    Erlang,
    Exponential,
    Gamma,
    Law,
    Lognormal,
    Pareto,
    Uniform,
)
from qtheory.queues.single import MD1, MG1, MG1K


@settings(max_examples=40)
@given(st.floats(0.05, 4.0), st.integers(1, 60))
def test_exponential_service_gives_mm1k(load: float, capacity: int) -> None:
    answer = MG1K(rate_rps=load, service=Exponential(mean=1.0), capacity=capacity).solve()
    n = np.arange(capacity + 1)
    weights = load ** (n - capacity * (load > 1) * 1.0)
    pmf = weights / weights.sum()
    assert answer.prob_block == pytest.approx(pmf[-1], rel=1e-9)
    assert answer.mean_number == pytest.approx(pmf @ n, rel=1e-9)
    found = pmf[:-1] / pmf[:-1].sum()
    t = 0.4 * capacity
    waiting = found[1:] @ gammaincc(np.arange(1, capacity), t) if capacity > 1 else 0.0
    assert float(answer.wait.sf(t)) == pytest.approx(waiting, abs=1e-8)


def simulated(rate: float, service: Law, capacity: int, n: int, seed: int) -> tuple[float, np.ndarray]:
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(1 / rate, n)).tolist()
    sizes = np.asarray(service.sample(rng, n), dtype=float).tolist()
    ends: list[float] = []
    waits, lost, first = [], 0, 0
    for arrival, size in zip(arrivals, sizes, strict=True):
        while first < len(ends) and ends[first] <= arrival:
            first += 1
        if len(ends) - first >= capacity:
            lost += 1
            continue
        start = max(arrival, ends[-1]) if ends else arrival
        waits.append(start - arrival)
        ends.append(start + size)
    return lost / n, np.array(waits)


@pytest.mark.parametrize("rate", [0.7, 1.4])
@pytest.mark.parametrize(
    "service",
    [
        Constant(value=1.0),
        Erlang(k=3, mean=1.0),
        Lognormal(mean=1.0, cv=1.5),
        Discrete(values=[0.5, 2.0], probs=[0.7, 0.3]),
    ],
    ids=str,
)
def test_losses_and_waits_agree_with_simulation(rate: float, service: Law) -> None:
    capacity = 5
    answer = MG1K(rate_rps=rate, service=service, capacity=capacity).solve()
    levels = (0.6, 1.7, 3.3)
    whole = answer.response.var_s2 - answer.wait.var_s2
    assert whole == pytest.approx(service.var, rel=1e-9, abs=1e-12)
    rows = []
    for seed in range(12):
        lost, waits = simulated(rate, service, capacity, 25_000, seed)
        rows.append([lost, waits.mean(), waits.var(), *((waits > t).mean() for t in levels)])
    found = np.array(rows)
    tails = [float(answer.wait.sf(t)) for t in levels]
    wanted = [answer.prob_block, answer.mean_wait_s, answer.wait.var_s2, *tails]
    error = found.std(axis=0, ddof=1) / np.sqrt(len(rows))
    assert np.all(np.abs(found.mean(axis=0) - wanted) <= 4 * error)


@pytest.mark.parametrize("service", [Constant(value=1.0), Uniform(low=0.2, high=1.8)], ids=str)
def test_a_large_room_is_mg1(service: Law) -> None:
    answer = MG1K(rate_rps=0.6, service=service, capacity=120).solve()
    plain = MG1(rate_rps=0.6, service=service).solve()
    assert answer.mean_wait_s == pytest.approx(plain.mean_wait_s, rel=1e-9)
    assert float(answer.wait.ppf(0.95)) == pytest.approx(float(plain.wait.ppf(0.95)), rel=1e-5)
    assert 0 < answer.prob_block < 1e-30


def test_a_rare_loss_keeps_its_digits() -> None:
    # for M/M/1/K the loss is (1 - rho) rho^K / (1 - rho^(K+1))
    answer = MG1K(rate_rps=0.2, service=Exponential(mean=1.0), capacity=25).solve()
    assert answer.prob_block == pytest.approx(0.8 * 0.2**25, rel=1e-9)


@settings(max_examples=40)
@given(st.floats(0.1, 3.0), st.integers(1, 30))
def test_a_larger_room_loses_fewer(load: float, capacity: int) -> None:
    service = Uniform(low=0.5, high=1.5)
    small, large = (
        MG1K(rate_rps=load, service=service, capacity=k).solve() for k in (capacity, capacity + 1)
    )
    assert large.prob_block <= small.prob_block * (1 + 1e-12)
    assert large.throughput_rps >= small.throughput_rps * (1 - 1e-12)
    assert min(small.number_pmf(n) for n in range(capacity + 1)) >= 0


def test_the_finite_deterministic_wait_has_the_mean_and_the_end_of_the_room() -> None:
    answer = MG1K(rate_rps=1.1, service=Constant(value=2.0), capacity=6).solve()
    node, weight = np.polynomial.legendre.leggauss(24)
    t = 2.0 * (np.arange(5)[:, None] + 0.5 + 0.5 * node)  # between the kinks
    tail = answer.wait.sf(t)
    assert (tail @ weight).sum() == pytest.approx(answer.mean_wait_s, rel=1e-10)
    second = 2 * ((t * tail) @ weight).sum()
    assert second - answer.mean_wait_s**2 == pytest.approx(answer.wait.var_s2, rel=1e-9)
    assert float(answer.wait.sf(10.0)) == 0.0
    assert float(answer.wait.sf(9.9)) > 0.0
    assert answer.response.mean_s == pytest.approx(answer.mean_response_s, rel=1e-10)
    md1 = MD1(rate_rps=0.5, service_s=1.0).solve()
    room = MG1K(rate_rps=0.5, service=Constant(value=1.0), capacity=200).solve()
    assert float(room.wait.ppf(0.99)) == pytest.approx(float(md1.wait.ppf(0.99)), rel=1e-9)


@settings(max_examples=30)
@given(st.floats(1e-8, 60.0), st.integers(1, 60))
def test_the_variance_of_exponential_services_is_that_of_a_sum(load: float, capacity: int) -> None:
    answer = MG1K(rate_rps=load, service=Exponential(mean=1.0), capacity=capacity).solve()
    n = np.arange(capacity)
    weights = load ** (n - capacity * (load > 1) * 1.0)
    found = weights / weights.sum()
    mean = float(found @ n)
    assert answer.wait.var_s2 == pytest.approx(mean + float(found @ (n - mean) ** 2), rel=1e-8)
    assert answer.mean_wait_s == pytest.approx(mean, rel=1e-9)


def test_the_variance_for_a_large_room_is_that_of_mg1() -> None:
    for service in (Uniform(low=0.2, high=1.8), Gamma(mean=1.0, cv=1.5)):
        plain = MG1(rate_rps=0.5, service=service).solve()
        answer = MG1K(rate_rps=0.5, service=service, capacity=300).solve()
        assert answer.wait.var_s2 == pytest.approx(plain.wait.var_s2, rel=1e-9)
        assert answer.response.var_s2 == pytest.approx(plain.response.var_s2, rel=1e-9)


def test_the_response_of_exponential_services_is_a_mixture_of_erlang_laws() -> None:
    answer = MG1K(rate_rps=0.9, service=Exponential(mean=1.0), capacity=8).solve()
    n = np.arange(8)
    found = 0.9**n / (0.9**n).sum()
    for q in (0.5, 0.9, 0.99, 0.999):
        t = float(answer.response.ppf(q))
        assert found @ gammaincc(n + 1, t) == pytest.approx(1 - q, rel=1e-6)


def test_heavy_tails_have_means_and_percentiles_in_a_room() -> None:
    service = Pareto(alpha=1.5, low=1 / 3)
    answer = MG1K(rate_rps=0.8, service=service, capacity=6).solve()
    rows = []
    for seed in range(12):
        lost, waits = simulated(0.8, service, 6, 25_000, seed)
        rows.append([lost, np.minimum(waits, 50.0).mean(), (waits > 3.0).mean()])
    error = np.std(rows, axis=0, ddof=1) / np.sqrt(12)
    found = np.mean(rows, axis=0)
    node, weight = np.polynomial.legendre.leggauss(60)
    cut_mean = 25 * float(weight @ answer.wait.sf(25 + 25 * node))
    wanted = [answer.prob_block, cut_mean, float(answer.wait.sf(3.0))]
    assert np.all(np.abs(found - wanted) <= 4 * error)
    with pytest.raises(ConfigError, match="second moment"):
        _ = answer.response.var_s2
    for law in (Lognormal(mean=1.0, cv=10.0), Pareto(alpha=2.5, low=0.6)):
        heavy = MG1K(rate_rps=0.7, service=law, capacity=10).solve()
        assert heavy.throughput_rps == pytest.approx(0.7 * (1 - heavy.prob_block), rel=1e-12)
        assert 0 < heavy.wait.ppf(0.9) < heavy.response.ppf(0.9) < heavy.response.ppf(0.99)


def test_services_of_two_sizes_jump_where_nobody_is_found() -> None:
    service = Discrete(values=[0.5, 3.0], probs=[0.8, 0.2])
    answer = MG1K(rate_rps=0.1, service=service, capacity=3).solve()
    assert answer.response.ppf(0.5) == pytest.approx(0.5)
    assert answer.response.sf(0.4999) - answer.response.sf(0.5001) > 0.7


def test_no_room_to_wait_is_the_loss_formula_whatever_the_law() -> None:
    for service in (Constant(value=1.0), Lognormal(mean=1.0, cv=3.0)):
        answer = MG1K(rate_rps=1.5, service=service, capacity=1).solve()
        assert answer.prob_block == pytest.approx(0.6, rel=1e-10)
        assert answer.mean_wait_s == pytest.approx(0.0, abs=1e-9)


def test_long_queues_in_overload_do_not_overflow() -> None:
    answer = MG1K(rate_rps=3.0, service=Erlang(k=2, mean=1.0), capacity=2000).solve()
    assert answer.prob_block == pytest.approx(2 / 3, rel=1e-9)
    assert answer.throughput_rps == pytest.approx(1.0, rel=1e-9)


def test_a_room_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="capacity"):
        MG1K(rate_rps=1.0, service=Exponential(mean=1.0), capacity=0)


def test_a_room_that_is_too_large_for_the_chain_is_refused_in_a_line() -> None:
    with pytest.raises(ConfigError, match="capacity: 1000000 is more than 20000"):
        MG1K(rate_rps=0.8, service=Erlang(k=2, mean=1.0), capacity=1_000_000)
