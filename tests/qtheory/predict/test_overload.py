"""Above the limit for a while: counting, limits and labels."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.predict import OVERLOAD_SCHEDULERS, limit_rps, predict, sweep
from tests.qtheory.predict.worlds import world

CHAT = {"hardware": "a100", "model": "llama-3.1-8b", "workload": "chat"}
FIXED = {
    "hardware": "a100",
    "model": "llama-3.1-8b",
    "kv_blocks": 100_000,
    "scheduler": "chunked",
    "step_time": "linear(base_s=0.1)",
    "prompt": "constant(64)",
    "output": "constant(1)",
    "budget_tokens": 64,
}


@pytest.mark.parametrize("scheduler", OVERLOAD_SCHEDULERS)
def test_the_backlog_is_what_comes_less_what_is_served(scheduler: str) -> None:
    replica, workload = world(**CHAT, scheduler=scheduler)
    limit = limit_rps(replica, workload)
    point = predict(replica, workload, rate_rps=2 * limit, duration_s=400.0)
    assert point.end_backlog is not None
    filling = 200.0  # requests that find a place at first; the rest waits
    assert point.end_backlog == pytest.approx(400.0 * limit, abs=filling)
    assert point.mean_ttft_s == pytest.approx(200.0, rel=0.06)  # the last waits as long as all have come
    assert point.p99_ttft_s == pytest.approx(0.99 * 400, rel=0.06)
    assert point.throughput_rps == pytest.approx(limit, rel=0.06)


def test_one_prompt_a_step_waits_as_in_a_simulated_queue() -> None:
    replica, workload = world(**FIXED)
    point = predict(replica, workload, rate_rps=11.0, duration_s=60.0)
    rng, means, inside = np.random.default_rng(1), [], []
    for _ in range(400):
        gaps = rng.exponential(1 / 11.0, 900)
        wait, arrival, ttfts = 0.0, 0.0, []
        for gap in gaps:  # Lindley
            wait, arrival = max(wait + 0.1 - gap, 0.0), arrival + gap
            if arrival > 60:
                break
            ttfts.append(wait + 0.1)
        means.append(np.mean(ttfts))
        inside.append(np.mean(np.array(ttfts) < 3.0))
    error = 4 * np.std(means) / 20
    assert abs(point.mean_ttft_s - np.mean(means)) < error + 0.05  # half a step of 0.1 s
    assert point.kind == "finite horizon, predicted"


def test_an_answer_above_the_limit_needs_a_horizon_and_says_so() -> None:
    replica, workload = world(**CHAT, scheduler="chunked")
    limit = limit_rps(replica, workload)
    with pytest.raises(UnstableError, match="give a horizon"):
        predict(replica, workload, rate_rps=1.2 * limit)
    point = predict(replica, workload, rate_rps=1.2 * limit, n_requests=3000)
    assert point.duration_s == pytest.approx(3000 / (1.2 * limit))
    assert "no steady state" in point.warnings[0]
    with pytest.raises(ConfigError, match="one of the two"):
        predict(replica, workload, rate_rps=1.2 * limit, n_requests=3000, duration_s=5.0)
    with pytest.raises(UnstableError, match="not below the limit"):
        predict(replica, workload, rate_rps=1.2 * limit, duration_s=60.0, scheduler="sjf")


def test_longer_and_heavier_overloads_wait_longer() -> None:
    replica, workload = world(**CHAT, scheduler="fcfs")
    limit = limit_rps(replica, workload)
    rates = [share * limit for share in (0.5, 1.0, 1.05, 1.2, 1.5, 2.0)]
    points = sweep(replica, workload, rates, duration_s=300.0)
    waits = [point.mean_ttft_s for point in points]
    assert waits == sorted(waits)
    assert [point.duration_s for point in points] == [None, *[300.0] * 5]
    good = [point.goodput_frac for point in points[1:]]
    assert good == sorted(good, reverse=True)
    by_time = [
        predict(replica, workload, rate_rps=rates[3], duration_s=t).mean_ttft_s for t in (60, 300, 900)
    ]
    assert by_time == sorted(by_time)


def test_near_a_limit_that_preemption_blurs_there_is_no_answer() -> None:
    replica, workload = world(hardware="rtx3050", model="llama-3.2-1b", workload="chat", scheduler="chunked")
    limit = limit_rps(replica, workload)
    with pytest.raises(ConfigError, match="simulate it"):
        predict(replica, workload, rate_rps=1.05 * limit, duration_s=300.0)
    assert predict(replica, workload, rate_rps=2 * limit, duration_s=300.0).end_backlog


@pytest.mark.parametrize(
    ("workload", "scheduler", "rate_rps", "p90_s", "p95_s"),
    [
        ("rag", "chunked", 4.5, 0.1496, 0.1508),
        ("chat", "chunked", 11.7, 0.1421, 0.1465),
        ("chat", "fcfs", 11.4, 0.1589, 0.2833),
    ],
)
def test_gaps_above_the_limit_are_those_of_steps_that_the_budget_bounds(
    workload: str, scheduler: str, rate_rps: float, p90_s: float, p95_s: float
) -> None:
    replica, demand = world(**(CHAT | {"workload": workload}), scheduler=scheduler)
    point = predict(replica, demand, rate_rps=rate_rps, n_requests=3000)
    assert point.p90_itl_s == pytest.approx(p90_s, rel=0.06)  # simulated, as in `simulated`
    assert point.p95_itl_s == pytest.approx(p95_s, rel=0.06)
