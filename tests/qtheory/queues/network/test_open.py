"""Open networks and fork-join."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.queues.multi import MMc
from qtheory.queues.network import ForkJoin, OpenJackson
from tests.qtheory.queues.simulated import agrees, fcfs_waits


def test_a_tandem_is_one_queue_after_the_other() -> None:
    answer = OpenJackson(
        external_rps=[2.0, 0.0], routing=[[0, 1], [0, 0]], service_rate_rps=[3.0, 1.5], n_servers=[1, 2]
    ).solve()
    first = MMc(rate_rps=2.0, service_rate_rps=3.0, n_servers=1).solve()
    second = MMc(rate_rps=2.0, service_rate_rps=1.5, n_servers=2).solve()
    assert answer.mean_response_s == pytest.approx(first.mean_response_s + second.mean_response_s)
    assert answer.visits_by_station == (1.0, 1.0)


@settings(max_examples=30)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.floats(1e-6, 1e6))
def test_flows_balance_and_units_do_not_matter(n: int, seed: int, c: float) -> None:
    rng = np.random.default_rng(seed)
    routing = rng.random((n, n)) / n
    outside = rng.random(n)
    flow = np.linalg.solve((np.eye(n) - routing).T, outside)
    servers = rng.integers(1, 4, n)
    speed = flow / servers / rng.uniform(0.2, 0.95, n)

    def solve(unit: float) -> tuple[tuple[float, ...], float]:
        answer = OpenJackson(
            external_rps=(outside / unit).tolist(),
            routing=routing.tolist(),
            service_rate_rps=(speed / unit).tolist(),
            n_servers=[int(count) for count in servers],
        ).solve()
        return answer.arrival_rate_rps_by_station, answer.mean_response_s

    rates, response_s = solve(1.0)
    assert np.array(rates) == pytest.approx(outside + np.array(rates) @ routing, rel=1e-10)
    assert solve(c)[1] == pytest.approx(c * response_s, rel=1e-8)


def test_a_station_that_nobody_visits_stands_empty() -> None:
    answer = OpenJackson(
        external_rps=[1.0, 0.0], routing=[[0, 0], [1, 0]], service_rate_rps=[2.0, 2.0]
    ).solve()
    assert answer.mean_number_by_station == pytest.approx((1.0, 0.0))


def test_what_cannot_be_is_named() -> None:
    with pytest.raises(UnstableError, match="station 2 gets 2 requests/s"):
        OpenJackson(external_rps=[2.0, 0.0], routing=[[0, 1], [0, 0]], service_rate_rps=[3.0, 1.5]).solve()
    with pytest.raises(ConfigError, match="could never leave"):
        OpenJackson(external_rps=[1.0, 0.0], routing=[[0, 1], [1, 0]], service_rate_rps=[3.0, 3.0])
    with pytest.raises(ConfigError, match="rows sum to at most 1"):
        OpenJackson(external_rps=[1.0], routing=[[1.2]], service_rate_rps=[3.0])
    with pytest.raises(ConfigError, match="nobody comes"):
        OpenJackson(external_rps=[0.0], routing=[[0.5]], service_rate_rps=[3.0])
    with pytest.raises(ConfigError, match="n_servers"):
        OpenJackson(external_rps=[1.0], routing=[[0.5]], service_rate_rps=[3.0], n_servers=[0])
    with pytest.raises(ConfigError, match="1 rows of 1"):
        OpenJackson(external_rps=[1.0], routing=[], service_rate_rps=[3.0])


@pytest.mark.parametrize("n_branches", [2, 8])
def test_fork_join_agrees_with_a_simulation(n_branches: int) -> None:
    rng = np.random.default_rng(11)
    intervals = rng.exponential(1 / 0.6, (200, 3000))
    late = np.zeros((200, 3000))
    for _ in range(n_branches):
        services = rng.exponential(1.0, (200, 3000))
        late = np.maximum(late, fcfs_waits(intervals, services) + services)
    answer = ForkJoin(rate_rps=0.6, service_rate_rps=1.0, n_branches=n_branches).solve()
    late = late[:, 300:]
    if n_branches == 2:
        assert answer.exactness == "exact"
        assert agrees(late, answer.mean_response_s)
    else:
        assert late.mean() == pytest.approx(answer.mean_response_s, rel=0.03)
        assert answer.bound_low_s < late.mean() < answer.bound_high_s


@given(st.integers(1, 64), st.floats(0.01, 0.97))
def test_the_approximation_lies_between_the_bounds(n_branches: int, load: float) -> None:
    answer = ForkJoin(rate_rps=load, service_rate_rps=1.0, n_branches=n_branches).solve()
    assert answer.bound_low_s <= answer.mean_response_s * (1 + 1e-12)
    assert answer.mean_response_s <= answer.bound_high_s * (1 + 1e-12)


def test_fork_join_needs_a_rate_below_the_service_rate() -> None:
    with pytest.raises(UnstableError, match="not below"):
        ForkJoin(rate_rps=1.0, service_rate_rps=1.0, n_branches=2).solve()
