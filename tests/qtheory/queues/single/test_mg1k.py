"""M/G/1/K against M/M/1/K, simulation and M/G/1."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaincc

from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant, Discrete, Erlang, Exponential, Law, Lognormal, Uniform
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
    rows = []
    for seed in range(12):
        lost, waits = simulated(rate, service, capacity, 25_000, seed)
        rows.append([lost, waits.mean(), *((waits > t).mean() for t in levels)])
    found = np.array(rows)
    wanted = [answer.prob_block, answer.mean_wait_s, *(float(answer.wait.sf(t)) for t in levels)]
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
    assert answer.wait.mean_s == pytest.approx(answer.mean_wait_s, rel=1e-10)
    assert float(answer.wait.sf(10.0)) == 0.0
    assert float(answer.wait.sf(9.9)) > 0.0
    assert answer.response.mean_s == pytest.approx(answer.mean_response_s, rel=1e-10)
    md1 = MD1(rate_rps=0.5, service_s=1.0).solve()
    room = MG1K(rate_rps=0.5, service=Constant(value=1.0), capacity=200).solve()
    assert float(room.wait.ppf(0.99)) == pytest.approx(float(md1.wait.ppf(0.99)), rel=1e-9)


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
