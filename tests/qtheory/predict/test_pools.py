"""Prefill and decode apart, against queues whose answer is known, and how many of each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.predict import PoolPlan, best_pools, predict_pools
from qtheory.predict.demand import demand_of
from qtheory.queues.batch import AffineService, BatchQueue
from tests.qtheory.predict.worlds import world

FIXED = {
    "hardware": "a100",
    "model": "llama-3.1-8b",
    "kv_blocks": 100_000,
    "scheduler": "fcfs",
    "step_time": "linear(base_s=0.02,per_token_s=0.0001)",
    "prompt": "constant(100)",
    "output": "constant(101)",
    "max_seqs": 64,
}
CHAT = {"hardware": "a100", "model": "llama-3.1-8b", "workload": "chat", "scheduler": "fcfs"}
FAST = PoolPlan(n_prefill=1, n_decode=1, link_tokens_per_s=1e9)


@pytest.mark.parametrize("rate_rps", [5.0, 15.0, 24.0])
def test_the_prefill_pool_is_the_queue_with_batches_and_the_decode_pool_shares_its_processor(
    rate_rps: float,
) -> None:
    replica, workload = world(**FIXED)
    point = predict_pools(replica, replica, workload, FAST, rate_rps=rate_rps)
    service = AffineService(base_s=0.02, slope_s=0.01)
    exact = BatchQueue(rate_rps=rate_rps, service=service, max_batch=64).solve()
    assert exact.mean_response_s is not None
    assert point.mean_ttft_s == pytest.approx(exact.mean_response_s, rel=0.01)
    running = rate_rps * 100 * 0.02 / (1 - rate_rps * 100 * 0.0001)  # n = rate * d * (a + b n)
    assert point.mean_decoding == pytest.approx(running, rel=0.02)


def test_the_limit_is_that_of_the_smallest_of_pools_and_link() -> None:
    replica, workload = world(**CHAT)
    mean = demand_of(workload).mean_prompt
    binds = {}
    for x, y, speed in ((1, 8, 1e9), (8, 1, 1e9), (1, 1, mean)):
        plan = PoolPlan(n_prefill=x, n_decode=y, link_tokens_per_s=speed)
        binds[x, y] = predict_pools(replica, replica, workload, plan, rate_rps=0.1)
        with pytest.raises(UnstableError, match="not below the limit"):
            predict_pools(replica, replica, workload, plan, rate_rps=1.01 * binds[x, y].limit_rps)
    assert [point.binds for point in binds.values()] == ["prefill pool", "decode pool", "link"]
    assert binds[1, 1].limit_rps == pytest.approx(1.0, rel=0.05)


def test_a_slow_link_delays_the_second_token_or_the_first() -> None:
    replica, workload = world(**CHAT)
    slow = replace(FAST, link_tokens_per_s=20_000.0)
    base, late, counted = (
        predict_pools(replica, replica, workload, plan, rate_rps=4.0)
        for plan in (FAST, slow, replace(slow, first_token="transfer_end"))
    )
    assert late.mean_ttft_s == pytest.approx(base.mean_ttft_s)
    sent = late.mean_e2e_s - base.mean_e2e_s
    assert sent > demand_of(workload).mean_prompt / 20_000
    assert counted.mean_ttft_s - base.mean_ttft_s == pytest.approx(sent, rel=0.02)
    assert counted.mean_e2e_s == pytest.approx(late.mean_e2e_s, rel=0.01)


def test_instances_that_share_evenly_wait_less_than_those_with_arrivals_of_their_own() -> None:
    replica, workload = world(**CHAT)
    plan = PoolPlan(n_prefill=3, n_decode=3, link_tokens_per_s=1e6)
    even = predict_pools(replica, replica, workload, plan, rate_rps=30.0)
    alone = predict_pools(replica, replica, workload, replace(plan, router="random"), rate_rps=30.0)
    single = predict_pools(replica, replica, workload, replace(FAST, link_tokens_per_s=1e6), rate_rps=10.0)
    assert even.mean_ttft_s < alone.mean_ttft_s
    assert alone.mean_ttft_s == pytest.approx(single.mean_ttft_s, rel=1e-6)
    assert even.p99_tpot_s is not None
    assert alone.p99_tpot_s is not None
    assert even.p99_tpot_s < alone.p99_tpot_s


def test_the_best_division_has_the_highest_limit_and_follows_the_work() -> None:
    divisions = {}
    for name in ("rag", "chat"):
        replica, workload = world(**CHAT | {"workload": name})
        best = best_pools(replica, replica, workload, replace(FAST, link_tokens_per_s=1e6), n_instances=6)
        divisions[name] = best.n_prefill
        assert best.n_prefill + best.n_decode == 6
    assert divisions["rag"] > divisions["chat"]


def test_one_token_outputs_have_no_decode_pool() -> None:
    replica, workload = world(**CHAT | {"workload": "rag"}, output="constant(1)")
    with pytest.raises(ConfigError, match="nothing to decode"):
        predict_pools(replica, replica, workload, FAST, rate_rps=1.0)
    with pytest.raises(ConfigError, match="router"):
        replace(FAST, router="round")
