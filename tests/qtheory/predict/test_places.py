"""Waits for a place come from states without one, not from the mesh."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qtheory.predict import limit_rps, predict
from qtheory.predict.demand import demand_of
from qtheory.predict.inputs import engine_of
from tests.qtheory.predict.worlds import world

CHAT = {"hardware": "l40s", "model": "llama-3.1-8b", "workload": "chat", "scheduler": "chunked"}


@pytest.mark.parametrize("share", [0.35, 0.5])
def test_places_that_are_hardly_ever_all_taken_change_hardly_anything(share: float) -> None:
    tight, workload = world(**CHAT, kv_blocks=2739, budget_tokens=8192)  # room for 35 requests
    rate_rps = share * limit_rps(tight, workload)
    found, free = (
        predict(replica, workload, rate_rps=rate_rps) for replica in (tight, replace(tight, n_blocks=100_000))
    )
    assert found.mean_ttft_s == pytest.approx(free.mean_ttft_s, rel=0.05)
    assert found.p95_ttft_s == pytest.approx(free.p95_ttft_s, rel=0.05)
    assert found.mean_tpot_s == pytest.approx(free.mean_tpot_s, rel=0.01)


def test_what_requests_hold_varies_so_that_some_wait_where_memory_holds_twice_the_mean() -> None:
    """Simulated: 0.1154 s, and 0.1093 s where memory is ample (60,000 requests); levels blur 3 % of it."""
    tight, workload = world(**CHAT, kv_blocks=2739, budget_tokens=8192)
    rate_rps = 0.65 * limit_rps(tight, workload)
    found, free = (
        predict(replica, workload, rate_rps=rate_rps) for replica in (tight, replace(tight, n_blocks=100_000))
    )
    assert found.mean_ttft_s == pytest.approx(0.1154, rel=0.05)
    assert found.mean_ttft_s > 1.04 * free.mean_ttft_s
    assert free.mean_ttft_s == pytest.approx(0.1093, rel=0.03)
    assert found.p99_ttft_s > 1.1 * free.p99_ttft_s


def test_a_long_prompt_takes_longer_steps_and_hardly_more_of_them_where_steps_cost_much_anyway() -> None:
    machine = {"hardware": "a100", "model": "qwen3-30b-a3b", "workload": "summarize", "budget_tokens": 512}
    tokens = {}
    for scheduler in ("chunked", "fcfs"):
        replica, workload = world(**machine, scheduler=scheduler)
        engine = engine_of(replica, demand_of(workload))
        longest = engine.demand.prompt_tokens.argmax()
        tokens[scheduler] = engine.weighted_tokens[longest] / engine.demand.prompt_tokens[longest]
    assert 1 < tokens["chunked"] < 1.03
    assert tokens["fcfs"] > 1.1


def test_the_order_of_the_shortest_counts_by_what_is_waited_for() -> None:
    """Prompts wait for the budget, of which another binds at the limit: the order changes little of that."""
    machine = CHAT | {"workload": "summarize", "hardware": "a100"}
    replica, workload = world(**machine)
    limit = limit_rps(replica, workload)
    for tier in ("numeric", "closed"):
        plain, shortest = (
            predict(replica, workload, rate_rps=0.65 * limit, scheduler=name, tier=tier)
            for name in ("chunked", "sjf")
        )
        assert plain.binds == "slots"
        assert shortest.mean_ttft_s == pytest.approx(plain.mean_ttft_s, rel=0.03)
