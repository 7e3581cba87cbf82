"""The unlimited batch server: published values, bounds, scaling."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.queues.batch import AffineService, UnlimitedBatchQueue
from tests.qtheory.queues.batch.simulated_batches import simulated_batches
from tests.qtheory.queues.simulated import agrees

# Inoue (2021), arXiv:1912.06322: batch times on two GPUs (ms); exact mean responses recomputed from its model
V100 = (0.1438, 1.8874, {0.1: 3.1459, 0.3: 4.2248, 0.5: 5.9019, 0.7: 9.8176, 0.8: 14.7147, 0.9: 29.4084})
P4 = (0.5833, 1.4284, {0.1: 2.4211, 0.3: 3.5345, 0.5: 5.1846, 0.7: 8.6773, 0.8: 12.9799, 0.9: 25.8774})


@pytest.mark.parametrize(
    ("slope", "base", "load", "mean"),
    [(s, b, load, mean) for s, b, rows in (V100, P4) for load, mean in rows.items()],
)
def test_published_means(slope: float, base: float, load: float, mean: float) -> None:
    queue = UnlimitedBatchQueue(rate_rps=load / slope, base_s=base, slope_s=slope)
    assert queue.solve().mean_response_s == pytest.approx(mean, abs=6e-5)


@settings(max_examples=30)
@given(st.floats(0.01, 0.9), st.floats(1e-3, 20))
def test_the_bounds_lie_above_the_mean(load: float, ratio: float) -> None:
    queue = UnlimitedBatchQueue(rate_rps=load, base_s=ratio, slope_s=1.0)
    exact = queue.solve().mean_response_s
    assert exact <= queue.bound_phi0_s * (1 + 1e-12)
    assert exact <= queue.bound_phi1_s * (1 + 1e-12)
    assert queue.bound_response_s == min(queue.bound_phi0_s, queue.bound_phi1_s)


@settings(max_examples=20)
@given(st.floats(0.01, 0.95), st.floats(1e-2, 10))
def test_means_without_the_chain_are_those_of_the_chain(load: float, base: float) -> None:
    queue = UnlimitedBatchQueue(rate_rps=load, base_s=base, slope_s=1.0)
    chain, iterated = queue.solve(), queue.solve(max_states=1)
    assert iterated.mean_response_s == pytest.approx(chain.mean_response_s, rel=1e-10)
    assert iterated.prob_server_idle == pytest.approx(chain.prob_server_idle, rel=1e-7, abs=1e-14)
    assert iterated.wait is None
    assert "means only" in iterated.route


def test_the_mean_follows_from_the_batch_sizes() -> None:
    queue = UnlimitedBatchQueue(rate_rps=3.0, base_s=0.2, slope_s=0.1)
    answer = queue.solve()
    k = np.arange(1, 200)
    pmf = np.array([answer.batch_pmf(int(n)) for n in k])
    first, second = pmf @ k, pmf @ k**2
    assert answer.mean_response_s == pytest.approx(0.3 + 1.6 * (second - first) / (2 * 3.0 * first))


def test_the_laws_agree_with_a_simulation() -> None:
    queue = UnlimitedBatchQueue(rate_rps=60.0, base_s=0.05, slope_s=0.01)
    answer = queue.solve()
    service = AffineService(base_s=0.05, slope_s=0.01)
    waits, responses = simulated_batches(np.random.default_rng(2), service, rate_rps=60.0, max_batch=400)
    assert agrees(waits, answer.mean_wait_s)
    for q in (0.5, 0.99):
        assert agrees(waits > float(answer.wait.ppf(q)), 1 - q)
        assert agrees(responses > float(answer.response.ppf(q)), 1 - q)
    t = np.linspace(0, 1.5, 20_001)
    tail = answer.response.sf(t)
    assert np.trapezoid(tail, t) == pytest.approx(answer.mean_response_s, rel=1e-4)
    assert 2 * np.trapezoid(t * tail, t) - answer.mean_response_s**2 == pytest.approx(
        answer.response.var_s2, rel=1e-3
    )


@settings(max_examples=20)
@given(st.floats(1e-9, 1e9), st.floats(0.05, 0.9))
def test_seconds_or_other_units_give_the_same_physics(c: float, load: float) -> None:
    plain = UnlimitedBatchQueue(rate_rps=load, base_s=2.0, slope_s=1.0).solve()
    scaled = UnlimitedBatchQueue(rate_rps=load / c, base_s=2.0 * c, slope_s=c).solve()
    assert scaled.mean_wait_s == pytest.approx(c * plain.mean_wait_s)
    assert scaled.response.ppf(0.99) == pytest.approx(c * float(plain.response.ppf(0.99)), rel=1e-9)


def test_a_load_close_to_one_keeps_its_means() -> None:
    queue = UnlimitedBatchQueue(rate_rps=1.0 - 1e-6, base_s=50.0, slope_s=1.0)
    answer = queue.solve()
    assert answer.mean_response_s == pytest.approx(queue.bound_phi1_s, rel=1e-9)


def test_batches_that_take_no_time_per_member_are_always_stable() -> None:
    queue = UnlimitedBatchQueue(rate_rps=30.0, base_s=0.1, slope_s=0.0)
    assert queue.capacity_rps == math.inf
    assert queue.solve().mean_batch_size == pytest.approx(3.0 + math.exp(-3.0))


def test_a_rate_at_capacity_is_refused() -> None:
    queue = UnlimitedBatchQueue(rate_rps=10.0, base_s=1.0, slope_s=0.1)
    with pytest.raises(UnstableError, match="not below capacity_rps=10"):
        queue.solve()
    with pytest.raises(UnstableError, match="capacity_rps"):
        _ = queue.bound_phi0_s
    with pytest.raises(ConfigError, match="one of them must be > 0"):
        UnlimitedBatchQueue(rate_rps=10.0, base_s=0.0, slope_s=0.0)
