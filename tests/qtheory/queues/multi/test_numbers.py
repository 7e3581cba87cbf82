"""The number present, and the response, at many servers: one route against another, and simulation."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from qtheory.basics.errors import ConvergenceError
from qtheory.laws import Constant, Erlang, Exponential, Gamma, Hyperexponential, Law, Lognormal, Uniform
from qtheory.queues.multi import (
    ClosedStepServer,
    EkDc,
    ErlangA,
    GMc,
    MapPhC,
    MDc,
    MGcc,
    MMc,
    MMcG,
    MMcK,
)
from qtheory.queues.network import ClosedNetwork, ServerStation
from qtheory.queues.result import QueueResult
from tests.qtheory.queues.simulated import agrees

IMPATIENT = {"rate_rps": 12.0, "service_rate_rps": 1.0, "n_servers": 10}
STEPS = {"base_s": 0.02, "slope_s": 0.0005, "mean_steps": 200.0}


def _sound(answer: QueueResult, n: int = 1500, rel: float = 1e-9) -> np.ndarray:
    law = np.array([answer.number_pmf(k) for k in range(n)])
    assert law.min() >= 0
    assert law.sum() == pytest.approx(1.0, abs=rel)
    assert law @ np.arange(n) == pytest.approx(answer.mean_number, rel=rel)
    return law


@pytest.mark.parametrize(
    "interval",
    [
        Gamma(mean=0.25, cv=0.5),
        Constant(value=0.25),
        Lognormal(mean=0.25, cv=2.0),
        Uniform(low=0.0, high=0.5),
    ],
)
def test_any_intervals_leave_a_law_of_the_number(interval: Law) -> None:
    _sound(GMc(interval=interval, service_rate_rps=1.0, n_servers=6).solve(), 500)


def test_intervals_in_phases_give_the_levels_of_their_chain() -> None:
    for interval, phases in (
        (Gamma(mean=0.25, cv=0.5), Erlang(k=4, mean=0.25)),
        (Hyperexponential(probs=[0.8, 0.2], means=[0.1, 0.85]),) * 2,
    ):
        found = GMc(interval=interval, service_rate_rps=1.0, n_servers=5).solve()
        levels = MapPhC(arrivals=phases, service=Exponential(mean=1.0), n_servers=5).solve()
        for n in (0, 1, 2, 4, 5, 6, 20):
            assert found.number_pmf(n) == pytest.approx(levels.number_pmf(n), rel=1e-8)


def test_poisson_arrivals_at_many_servers_are_those_of_erlang() -> None:
    found = GMc(interval=Exponential(mean=1 / 80), service_rate_rps=1.0, n_servers=100).solve()
    plain = MMc(rate_rps=80.0, service_rate_rps=1.0, n_servers=100).solve()
    for n in (50, 80, 100, 130):
        assert found.number_pmf(n) == pytest.approx(plain.number_pmf(n), rel=1e-9)
    huge = GMc(interval=Lognormal(mean=1e-5, cv=2.0), service_rate_rps=1.0, n_servers=110_000).solve()
    with pytest.raises(ConvergenceError, match="n_servers=110000"):
        huge.number_pmf(3)


@pytest.mark.parametrize(("k", "c", "rate"), [(1, 3, 2.4), (2, 4, 3.0), (5, 1, 0.9)])
def test_erlang_intervals_and_constant_services_leave_each_kth(k: int, c: int, rate: float) -> None:
    answer = EkDc(rate_rps=rate, k=k, service_s=1.0, n_servers=c).solve()
    law = _sound(answer, 600)
    assert law[0] == answer.prob_empty
    if k == 1:
        other = MDc(rate_rps=rate, service_s=1.0, n_servers=c).solve()
        assert [other.number_pmf(n) for n in range(20)] == pytest.approx(law[:20].tolist(), rel=1e-12)


def test_the_number_with_erlang_intervals_is_that_of_a_simulation() -> None:
    rng, n, c = np.random.default_rng(1), 6000, 4
    seen = []
    for _ in range(20):
        come = np.cumsum(rng.gamma(2, 1 / 6, n))
        leave = np.empty(n)
        for i in range(n):
            leave[i] = max(come[i], leave[i - c] if i >= c else 0.0) + 1.0
        at = rng.uniform(50.0, come[-1], 4000)
        seen.append(np.searchsorted(come, at) - np.searchsorted(leave, at))
    answer = EkDc(rate_rps=3.0, k=2, service_s=1.0, n_servers=c).solve()
    for m in (0, 1, 3, 6):
        assert agrees((np.array(seen) == m).astype(float), answer.number_pmf(m)), m


@pytest.mark.parametrize(
    "patience",
    [Exponential(mean=2.0), Constant(value=0.5), Uniform(low=0.2, high=1.0), Gamma(mean=1.0, cv=2.0)],
)
def test_impatient_numbers_and_responses_are_sound(patience: Law) -> None:
    answer = MMcG(**IMPATIENT, patience=patience).solve()
    law = _sound(answer, 300)
    assert law[0] == answer.prob_empty
    before = 0.5 * (1 - np.append(0.0, np.geomspace(1e-12, 1.0, 3000))[::-1])  # a jump may be at 0.5
    early = np.append(0.0, np.geomspace(1e-12, 0.1, 4000))  # and a steep beginning
    grid = np.unique(np.concatenate([early, before, np.linspace(0.5 * (1 + 1e-12), 40.0, 20_001)]))
    tail = answer.response.sf(grid)
    assert np.trapezoid(tail, grid) == pytest.approx(answer.mean_response_s, rel=1e-5)
    second = 2 * np.trapezoid(grid * tail, grid)
    assert second - answer.mean_response_s**2 == pytest.approx(answer.response.var_s2, rel=1e-5)


def test_exponential_patience_has_the_chain_of_erlang_a() -> None:
    chain = ErlangA(**IMPATIENT, mean_patience_s=2.0).solve()
    offered = MMcG(**IMPATIENT, patience=Exponential(mean=2.0)).solve()
    for n in (0, 3, 9, 10, 11, 30):
        assert chain.number_pmf(n) == pytest.approx(offered.number_pmf(n), rel=1e-9)
    assert chain.response.var_s2 == pytest.approx(offered.response.var_s2, rel=1e-9)
    assert chain.response.ppf(0.99) == pytest.approx(offered.response.ppf(0.99), rel=1e-9)


def test_endless_patience_is_the_queue_without_leaving() -> None:
    patient = MMcG(rate_rps=8.0, service_rate_rps=1.0, n_servers=10, patience=Constant(value=200.0)).solve()
    plain = MMc(rate_rps=8.0, service_rate_rps=1.0, n_servers=10).solve()
    assert patient.response.ppf(0.99) == pytest.approx(plain.response.ppf(0.99), rel=1e-9)
    assert patient.number_pmf(14) == pytest.approx(plain.number_pmf(14), rel=1e-9)


@pytest.mark.parametrize("patience", [Constant(value=0.5), Uniform(low=0.2, high=1.0)])
def test_responses_of_the_impatient_are_those_of_a_simulation(patience: Law) -> None:
    rng, n = np.random.default_rng(5), 6000
    times = np.empty((24, n))
    for row in times:
        come, service = np.cumsum(rng.exponential(1 / 12, n)), rng.exponential(1.0, n)
        ready, free = patience.sample(rng, n), [0.0] * 10
        for i in range(n):
            wait = max(free[0] - come[i], 0.0)
            row[i] = ready[i] if wait > ready[i] else wait + service[i]
            if wait <= ready[i]:
                heapq.heapreplace(free, come[i] + row[i])
    answer = MMcG(**IMPATIENT, patience=patience).solve()
    for t in (0.1, 0.45, 1.0, 3.0):
        assert agrees((times[:, 500:] > t).astype(float), float(answer.response.sf(t))), t


def test_a_loss_system_does_not_see_the_law_of_the_service() -> None:
    plain = MMcK(rate_rps=8.0, service_rate_rps=1.0, n_servers=10, capacity=10).solve()
    skewed = MGcc(rate_rps=8.0, service=Lognormal(mean=1.0, cv=1.5), n_servers=10).solve()
    assert skewed.prob_block == plain.prob_block
    assert skewed.response.ppf(0.9) == pytest.approx(float(Lognormal(mean=1.0, cv=1.5).ppf(0.9)))
    _sound(skewed, 12)


def test_losses_with_constant_services_are_those_of_a_simulation() -> None:
    rng, lost = np.random.default_rng(2), []
    for _ in range(20):
        busy: list[float] = []
        missed, now = 0, 0.0
        for gap in rng.exponential(1 / 4, 4000).tolist():
            now += gap
            while busy and busy[0] <= now:
                heapq.heappop(busy)
            if len(busy) == 4:
                missed += 1
            else:
                heapq.heappush(busy, now + 1.0)
        lost.append(missed / 4000)
    answer = MGcc(rate_rps=4.0, service=Constant(value=1.0), n_servers=4).solve()
    assert agrees(np.array(lost), answer.prob_block)


def test_responses_of_a_closed_group_are_those_of_a_simulation() -> None:
    server = ClosedStepServer(population=6, **STEPS, think_s=2.0, max_running=3)
    rng, users, limit = np.random.default_rng(3), 6, 3
    times = []
    for _ in range(20):
        now, inside, found = 0.0, [], []
        while len(found) < 2200:
            running = min(len(inside), limit)
            come = (users - len(inside)) / 2.0
            leave = running / (200 * (0.02 + 0.0005 * running)) if running else 0.0
            now += rng.exponential(1 / (come + leave))
            if rng.random() * (come + leave) < come:
                inside.append(now)
            else:
                found.append(now - inside.pop(int(rng.integers(running))))
        times.append(found[200:])
    answer = server.solve()
    for t in (1.0, 5.0, 12.0):
        assert agrees((np.array(times) > t).astype(float), float(answer.response.sf(t))), t


@pytest.mark.parametrize("limits", [{}, {"max_running": 8}])
@pytest.mark.parametrize("think_s", [0.0, 1e-7])
def test_a_group_without_pauses_is_the_limit_of_short_ones(limits: dict[str, int], think_s: float) -> None:
    answer = ClosedStepServer(population=20, **STEPS, think_s=think_s, **limits).solve()
    none = ClosedStepServer(population=20, **STEPS, think_s=0.0, **limits).solve()
    assert answer.response.ppf(0.9) == pytest.approx(none.response.ppf(0.9), rel=1e-5)
    assert answer.response.mean_s == pytest.approx(answer.mean_response_s)


def test_a_closed_group_at_a_plain_server_waits_as_in_a_closed_network() -> None:
    one = ClosedStepServer(population=9, base_s=1.0, mean_steps=1.0, think_s=5.0, max_running=1).solve()
    network = ClosedNetwork(stations=[ServerStation(demand_s=1.0)], population=9, think_s=5.0).solve()
    assert one.mean_response_s == pytest.approx(network.mean_response_s, rel=1e-10)
    assert one.response.mean_s == pytest.approx(network.mean_response_s, rel=1e-10)
