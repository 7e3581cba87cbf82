"""The number present at batch servers: sums, Little's law, one route against another, simulation."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.laws import Exponential
from qtheory.queues.batch import (
    AffineService,
    BatchQueue,
    BatchResult,
    LongestMemberService,
    MMb1,
    UnlimitedBatchQueue,
)
from qtheory.queues.single import MD1, MM1
from tests.qtheory.queues.simulated import agrees

LINE = AffineService(base_s=0.1, slope_s=0.01)
SPREAD = AffineService(base_s=0.1, slope_s=0.01, scv=0.5)
QUEUES = {
    "greedy": BatchQueue(rate_rps=8.0, service=LINE, max_batch=16),
    "timer": BatchQueue(rate_rps=8.0, service=LINE, max_batch=16, min_batch=4, timeout_s=0.3),
    "gamma": BatchQueue(rate_rps=40.0, service=SPREAD, max_batch=16, min_batch=4),
    "large": BatchQueue(rate_rps=60.0, service=LINE, max_batch=256),
    "longest": BatchQueue(
        rate_rps=1.0, service=LongestMemberService(length=Exponential(mean=5.0), unit_s=0.1), max_batch=4
    ),
    "unlimited": UnlimitedBatchQueue(rate_rps=60.0, base_s=0.1, slope_s=0.01),
    "exponential": MMb1(rate_rps=2.4, service_rate_rps=1.0, max_batch=3),
    "exponential, large": MMb1(rate_rps=2.4, service_rate_rps=1.0, max_batch=3000),
}


def _law(answer: BatchResult, n: int) -> np.ndarray:
    return np.array([answer.number_pmf(k) for k in range(n)])


@pytest.mark.parametrize("name", QUEUES)
def test_probabilities_sum_to_one_and_keep_littles_law(name: str) -> None:
    answer = QUEUES[name].solve()
    law = _law(answer, 1500)
    assert law.min() >= 0
    assert law.sum() == pytest.approx(1.0, abs=1e-9)
    assert law @ np.arange(1500) == pytest.approx(answer.mean_number, rel=1e-8)
    assert law[0] == pytest.approx(answer.prob_empty, rel=1e-9)
    assert answer.number_pmf(-1) == 0.0


def test_exponential_batches_have_the_law_of_the_chain() -> None:
    closed = MMb1(rate_rps=2.4, service_rate_rps=1.0, max_batch=3).solve()
    constant_mean = AffineService(base_s=1.0, slope_s=0.0, scv=1.0)
    chain = BatchQueue(rate_rps=2.4, service=constant_mean, max_batch=3).solve()
    for n in (0, 1, 2, 5, 50, 500, 2500):
        assert chain.number_pmf(n) == pytest.approx(closed.number_pmf(n), rel=1e-9)


def test_batches_of_one_are_the_plain_queues() -> None:
    single = MMb1(rate_rps=0.8, service_rate_rps=1.0, max_batch=1).solve()
    plain = MM1(rate_rps=0.8, service_rate_rps=1.0).solve()
    constant = BatchQueue(rate_rps=0.8, service=AffineService(base_s=1.0, slope_s=0.0), max_batch=1).solve()
    fixed = MD1(rate_rps=0.8, service_s=1.0).solve()
    for n in (0, 1, 4, 30):
        assert single.number_pmf(n) == pytest.approx(plain.number_pmf(n), rel=1e-12)
        assert constant.number_pmf(n) == pytest.approx(fixed.number_pmf(n), rel=1e-8)


def test_the_number_is_that_of_a_simulation() -> None:
    rng, rate, batches = np.random.default_rng(7), 8.0, 5000
    shares = []
    for _ in range(20):
        waiting, spent = 0, np.zeros(60)
        for _ in range(batches):
            if waiting == 0:
                spent[0] += rng.exponential(1 / rate)
                waiting = 1
            taken = min(waiting, 16)
            service = 0.1 + 0.01 * taken
            at = np.sort(rng.uniform(0, service, rng.poisson(rate * service)))
            steps = np.diff(np.concatenate([[0.0], at, [service]]))
            np.add.at(spent, waiting + np.arange(steps.size), steps)
            waiting += at.size - taken
        shares.append(spent / spent.sum())
    answer = QUEUES["greedy"].solve()
    for n in (0, 1, 2, 4, 7):
        assert agrees(np.array(shares)[:, n], answer.number_pmf(n)), n
