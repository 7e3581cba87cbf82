"""Group arrivals against simulation and their limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant, Erlang, Exponential, Gamma, Law, Pareto
from qtheory.queues.single import MG1, BatchArrivals
from tests.qtheory.queues.simulated import agrees, draws, fcfs_waits


@pytest.mark.parametrize(
    "service", [Exponential(mean=1.0), Erlang(k=2, mean=0.9), Constant(value=1.0)], ids=str
)
def test_waits_agree_with_lindley_simulation(service: Law) -> None:
    pmf, rate = [0.5, 0.2, 0.3], 0.35
    rng = np.random.default_rng(4)
    n_reps, n_groups = 60, 8_000
    sizes = rng.choice([1, 2, 3], p=pmf, size=(n_reps, n_groups))
    rows = []
    for row in sizes:
        n = int(row.sum())
        gaps = np.zeros(n)
        gaps[np.concatenate([[0], np.cumsum(row)[:-1]])] = rng.exponential(1 / rate, n_groups)
        waits = fcfs_waits(gaps[None], draws(service, rng, (1, n)))[0, 1000:]
        rows.append([waits.mean(), waits.var(), (waits > 0).mean(), (waits > 3.7).mean()])
    answer = BatchArrivals(rate_rps=rate, group_pmf=pmf, service=service).solve()
    found = np.array(rows)
    wanted = [answer.mean_wait_s, answer.wait.var_s2, answer.prob_wait, float(answer.wait.sf(3.7))]
    for column, value in zip(found.T, wanted, strict=True):
        assert agrees(column, value)


@settings(max_examples=25)
@given(st.floats(0.05, 0.95), st.floats(1e-9, 1e9))
def test_groups_of_one_are_mg1(load: float, scale: float) -> None:
    service = Gamma(mean=scale, cv=1.4)
    groups = BatchArrivals(rate_rps=load / scale, group_pmf=[1.0], service=service).solve()
    plain = MG1(rate_rps=load / scale, service=service).solve()
    assert groups.mean_wait_s == pytest.approx(plain.mean_wait_s)
    assert float(groups.response.ppf(0.95)) == pytest.approx(float(plain.response.ppf(0.95)), rel=1e-7)


def test_the_second_moment_is_enough_for_the_mean() -> None:
    queue = BatchArrivals(rate_rps=0.2, group_pmf=[0.5, 0.5], service=Pareto(alpha=2.5, low=0.5))
    answer = queue.solve()
    assert answer.mean_wait_s > 0
    with pytest.raises(ConfigError, match="third moment"):
        _ = answer.wait.var_s2


def test_probabilities_must_sum_to_one() -> None:
    with pytest.raises(ConfigError, match=r"group_pmf: its sum 0\.8 must be 1"):
        BatchArrivals(rate_rps=0.2, group_pmf=[0.5, 0.3], service=Exponential(mean=1.0))


def test_the_number_present_is_that_of_the_chain_for_exponential_services() -> None:
    lam, mu, sizes, top = 0.3, 1.0, [0.5, 0.3, 0.2], 600
    answer = BatchArrivals(rate_rps=lam, group_pmf=sizes, service=Exponential(mean=1 / mu)).solve()
    generator = np.diag(np.full(top - 1, mu), -1)
    for k, prob in enumerate(sizes, start=1):
        generator += np.diag(np.full(top - k, lam * prob), k)
    generator -= np.diag(generator.sum(axis=1))
    generator[:, 0] = 1.0
    chain = np.linalg.solve(generator.T, np.eye(top)[0])
    found = np.array([answer.number_pmf(n) for n in range(60)])
    assert found == pytest.approx(chain[:60], rel=1e-8, abs=1e-12)
