"""Servers that work in steps: closed forms, absorbing chains, limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import nbinom

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.numerics.phase import phase_tail
from qtheory.queues.multi import ClosedStepServer, MMc, MMcK, StepServer
from qtheory.queues.multi._step_result import without_limit
from qtheory.queues.network import ClosedNetwork, StepStation

STEPS = {"base_s": 0.02, "slope_s": 0.005, "mean_steps": 40}


@given(st.floats(0.01, 0.97), st.floats(0.1, 50))
def test_without_a_limit_the_number_is_negative_binomial(load: float, ratio: float) -> None:
    server = StepServer(rate_rps=load / 0.2, base_s=0.005 * ratio, slope_s=0.005, mean_steps=40)
    answer = server.solve()
    assert answer.mean_number == pytest.approx((ratio + 1) * load / (1 - load), rel=1e-9)
    assert answer.var_number == pytest.approx((ratio + 1) * load / (1 - load) ** 2, rel=1e-8)
    assert answer.number_pmf(3) == pytest.approx(nbinom.pmf(3, ratio + 1, 1 - load), rel=1e-9)
    assert answer.mean_time_per_step_s == pytest.approx(answer.mean_response_s / 40, rel=1e-12)


def test_a_load_close_to_one_without_a_limit_keeps_its_means() -> None:
    answer = StepServer(rate_rps=(1 - 1e-6) / 0.2, base_s=0.02, slope_s=0.005, mean_steps=40).solve()
    assert answer.mean_number == pytest.approx(5e6, rel=1e-5)
    assert answer.var_number == pytest.approx(5e12, rel=1e-5)
    assert answer.response is None
    assert "too many states" in answer.route
    listed = StepServer(rate_rps=0.9 / 0.2, base_s=0.02, slope_s=0.005, mean_steps=40).solve()
    closed = without_limit(0.9 / 0.2, 0.02, 0.005, 40.0)
    assert closed.number_pmf(30) == pytest.approx(listed.number_pmf(30), rel=1e-9)
    assert closed.mean_response_s == pytest.approx(listed.mean_response_s, rel=1e-10)


@settings(max_examples=20)
@given(st.integers(1, 60), st.floats(0.02, 0.98), st.floats(1e-9, 1e9))
def test_steps_that_do_not_slow_down_are_equal_servers(limit: int, load: float, c: float) -> None:
    steps = StepServer(rate_rps=load * limit / c, base_s=0.1 * c, mean_steps=10, max_running=limit).solve()
    servers = MMc(rate_rps=load * limit / c, service_rate_rps=1 / c, n_servers=limit).solve()
    assert steps.mean_wait_s == pytest.approx(servers.mean_wait_s, rel=1e-9)
    assert steps.response.ppf([0.1, 0.5, 0.99]) == pytest.approx(
        servers.response.ppf([0.1, 0.5, 0.99]), rel=1e-7
    )
    assert steps.response.var_s2 == pytest.approx(servers.response.var_s2, rel=1e-7)


@pytest.mark.parametrize("room", [0, 1, 7])
@pytest.mark.parametrize("rate", [2.0, 60.0])
def test_steps_that_do_not_slow_down_with_limited_room_are_mmck(room: int, rate: float) -> None:
    steps = StepServer(rate_rps=rate, base_s=0.1, mean_steps=10, max_running=4, capacity=4 + room).solve()
    servers = MMcK(rate_rps=rate, service_rate_rps=1.0, n_servers=4, capacity=4 + room).solve()
    assert steps.prob_block == pytest.approx(servers.prob_block, rel=1e-12)
    assert steps.wait.ppf([0.5, 0.99]) == pytest.approx(servers.wait.ppf([0.5, 0.99]), rel=1e-9, abs=1e-12)
    assert steps.response.ppf([0.1, 0.99]) == pytest.approx(servers.response.ppf([0.1, 0.99]), rel=1e-7)
    assert steps.response.var_s2 == pytest.approx(servers.response.var_s2, rel=1e-7)


def _absorbing(server: StepServer, capacity: int) -> tuple[np.ndarray, np.ndarray]:
    """Sub-generator of a tagged customer: (place in the queue, behind it) or, running, the number present."""
    limit, lam = int(server.max_running or 0), server.rate_rps
    states = [(0, n) for n in range(1, capacity + 1)]
    states += [(k, m) for k in range(1, capacity - limit + 1) for m in range(capacity - limit - k + 1)]
    place = {state: i for i, state in enumerate(states)}
    q = np.zeros((len(states), len(states)))
    for (k, m), i in place.items():
        present = m if k == 0 else limit + k + m
        running = min(present, limit)
        own = 1 / (server.mean_steps * server.step_time_s(running))
        if present < capacity:
            q[i, place[(k, m + 1)]] += lam
        if k == 0 and running > 1:
            q[i, place[(0, m - 1)]] += (running - 1) * own
        if k > 0:
            q[i, place[(k - 1, m) if k > 1 else (0, limit + m)]] += running * own
        q[i, i] = -q[i].sum() - (own if k == 0 else 0.0)
    answer = server.solve()
    start = np.zeros(len(states))
    for n in range(capacity):
        state = (0, n + 1) if n < limit else (n - limit + 1, 0)
        start[place[state]] = answer.number_pmf(n)
    return start / start.sum(), q


@pytest.mark.parametrize("rate", [1.0, 6.0, 20.0])
def test_the_response_is_the_time_of_an_absorbing_chain(rate: float) -> None:
    server = StepServer(rate_rps=rate, **STEPS, max_running=5, capacity=11)
    answer = server.solve()
    start, q = _absorbing(server, 11)
    t = np.array([0.2, 1.0, 3.0, 8.0])
    assert answer.response.sf(t) == pytest.approx(phase_tail(start, q, t), abs=2e-9)
    away = np.linalg.inv(-q)
    assert answer.mean_response_s == pytest.approx(float(start @ away.sum(axis=1)), rel=1e-10)
    second = 2 * float(start @ away @ away.sum(axis=1))
    assert answer.response.var_s2 == pytest.approx(second - answer.mean_response_s**2, rel=1e-7)


def test_much_room_is_no_limit() -> None:
    free = StepServer(rate_rps=2.2, **STEPS, max_running=6).solve()
    roomy = StepServer(rate_rps=2.2, **STEPS, max_running=6, capacity=120).solve()
    assert roomy.mean_response_s == pytest.approx(free.mean_response_s, rel=1e-9)
    assert roomy.response.ppf([0.5, 0.99]) == pytest.approx(free.response.ppf([0.5, 0.99]), rel=1e-7)
    unlimited = StepServer(rate_rps=2.2, **STEPS).solve()
    wide = StepServer(rate_rps=2.2, **STEPS, max_running=300).solve()
    assert wide.response.ppf([0.5, 0.99]) == pytest.approx(unlimited.response.ppf([0.5, 0.99]), rel=1e-8)


def test_a_function_of_the_batch_replaces_the_line() -> None:
    line = StepServer(rate_rps=2.2, **STEPS, max_running=6).solve()
    function = StepServer(
        rate_rps=2.2, mean_steps=40, max_running=6, step_s=lambda n: 0.02 + 0.005 * n
    ).solve()
    assert function.response.ppf(0.9) == line.response.ppf(0.9)


def test_saturation_makes_the_wait_exponential_and_long() -> None:
    server = StepServer(rate_rps=1.0, **STEPS, max_running=16)
    answer = StepServer(rate_rps=(1 - 1e-6) * server.capacity_rps, **STEPS, max_running=16).solve()
    assert answer.mean_wait_s == pytest.approx(1e6 / server.capacity_rps, rel=1e-4)
    assert float(answer.response.ppf(0.5)) == pytest.approx(math.log(2) * answer.mean_wait_s, rel=1e-4)


@given(st.lists(st.floats(0.02, 0.97), min_size=2, max_size=2, unique=True))
def test_more_arrivals_slow_everybody_down(loads: list[float]) -> None:
    low, high = sorted(loads)
    answers = [StepServer(rate_rps=load * 3.5, **STEPS, max_running=28).solve() for load in (low, high)]
    assert answers[0].mean_time_per_step_s <= answers[1].mean_time_per_step_s * (1 + 1e-12)
    assert answers[0].mean_response_s <= answers[1].mean_response_s * (1 + 1e-12)


@pytest.mark.parametrize("think_s", [0.0, 3.0])
@pytest.mark.parametrize("limit", [None, 5])
def test_a_closed_group_is_the_network_of_its_server(think_s: float, limit: int | None) -> None:
    group = ClosedStepServer(population=12, **STEPS, think_s=think_s, max_running=limit).solve()
    station = StepStation(**STEPS, max_running=limit)
    network = ClosedNetwork(stations=[station], population=12, think_s=think_s).solve()
    assert group.throughput_rps == pytest.approx(network.throughput_rps, rel=1e-10)
    assert group.mean_response_s == pytest.approx(network.mean_response_s, rel=1e-10)
    assert group.throughput_rps * (think_s + group.mean_response_s) == pytest.approx(12.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rate_rps": 0.0}, "rate_rps"),
        ({"max_running": 0}, "max_running"),
        ({"base_s": 0.0, "slope_s": 0.0}, "one of them must be > 0"),
        ({"step_s": lambda n: 0.1}, "give either"),
        ({"base_s": 0.0, "slope_s": 0.0, "step_s": lambda n: 0.1}, "needs max_running"),
        (
            {"base_s": 0.0, "slope_s": 0.0, "step_s": lambda n: -0.1, "max_running": 3},
            "must be a finite number",
        ),
    ],
)
def test_parameters_out_of_range_are_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        StepServer(**{"rate_rps": 1.0, **STEPS, **wrong}).solve()


def test_too_much_load_is_refused_with_a_way_out() -> None:
    with pytest.raises(UnstableError, match="lower the rate, raise max_running"):
        StepServer(rate_rps=3.0, **STEPS, max_running=4).solve()
    with pytest.raises(UnstableError, match="capacity_rps=5"):
        StepServer(rate_rps=5.0, **STEPS).solve()
