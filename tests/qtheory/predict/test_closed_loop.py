"""A fixed number in flight: what counting gives, and bounds of closed networks."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.predict import CLOSED_LOOP_SCHEDULERS, limit_rps, predict, predict_closed_loop
from qtheory.system.workload import ClosedLoop
from tests.qtheory.predict.worlds import world

CHAT = {"hardware": "a100", "model": "llama-3.1-8b", "workload": "chat"}
FIXED = {
    "hardware": "a100",
    "model": "llama-3.1-8b",
    "kv_blocks": 100_000,
    "step_time": "linear(base_s=0.1)",
    "prompt": "constant(64)",
    "output": "constant(11)",
    "budget_tokens": 2048,
}


@pytest.mark.parametrize(("scheduler", "expected_s"), [("fcfs", 1.1), ("chunked", 1.1)])
def test_one_client_sees_its_own_steps_alone(scheduler: str, expected_s: float) -> None:
    replica, workload = world(**FIXED | {"budget_tokens": None}, scheduler=scheduler)
    point = predict_closed_loop(replica, workload, concurrency=1)
    assert point.mean_e2e_s == pytest.approx(expected_s, rel=0.02)
    assert point.mean_tpot_s == pytest.approx(0.1, rel=0.01)
    assert point.rate_rps == pytest.approx(1 / expected_s, rel=0.03)


@pytest.mark.parametrize("scheduler", CLOSED_LOOP_SCHEDULERS)
@pytest.mark.parametrize("n", [1, 16, 100, 400])
def test_littles_law_joins_clients_rate_and_time(scheduler: str, n: int) -> None:
    replica, workload = world(**CHAT, scheduler=scheduler)
    point = predict_closed_loop(replica, workload, concurrency=n)
    assert point.rate_rps * point.mean_e2e_s == pytest.approx(n, rel=0.04)
    assert point.rate_rps <= point.limit_rps * 1.0001
    thinking = predict_closed_loop(replica, workload, concurrency=n, think_s=5.0)
    assert thinking.rate_rps * (thinking.mean_e2e_s + 5.0) == pytest.approx(n, rel=0.05)


@pytest.mark.parametrize("workload_name", ["chat", "rag"])
@pytest.mark.parametrize("scheduler", CLOSED_LOOP_SCHEDULERS)
def test_more_clients_give_more_requests_up_to_the_limit(scheduler: str, workload_name: str) -> None:
    replica, workload = world(**CHAT | {"workload": workload_name}, scheduler=scheduler)
    limit = limit_rps(replica, workload)
    points = [predict_closed_loop(replica, workload, concurrency=n) for n in (1, 4, 16, 64, 256, 1000)]
    rates = [point.rate_rps for point in points]
    assert all(low <= high * 1.0001 for low, high in pairwise(rates))
    assert rates[-1] == pytest.approx(limit, rel=0.03)
    waits = [point.mean_ttft_s for point in points]
    assert waits == sorted(waits)


def test_a_workload_that_is_a_closed_loop_needs_no_rate() -> None:
    replica, workload = world(**CHAT)
    loop = replace(workload, arrivals=ClosedLoop(concurrency=8), rate_rps=None, duration_s=None, n_requests=9)
    point = predict(replica, loop)
    assert (point.kind, point.in_flight) == ("closed loop, predicted", 8)
    assert point == predict_closed_loop(replica, workload, concurrency=8)


def test_what_has_no_closed_network_is_refused() -> None:
    replica, workload = world(**CHAT)
    with pytest.raises(ConfigError, match="no closed loop of static"):
        predict_closed_loop(replica, workload, concurrency=8, scheduler="static")
    with pytest.raises(ConfigError, match="number of clients"):
        predict_closed_loop(replica, workload)
