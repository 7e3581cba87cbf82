"""Batching by request, against batch queues whose answer is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from qtheory.basics.errors import UnstableError
from qtheory.predict import TIERS, limit_rps, predict, sweep
from qtheory.queues.batch import AffineService, BatchQueue
from qtheory.system.workload import PairLengths
from tests.qtheory.predict.worlds import FIXED, world

CHAT = {"hardware": "a100", "model": "llama-3.1-8b", "workload": "chat", "scheduler": "static"}


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8, 0.9])
def test_one_token_outputs_are_the_queue_with_batches_of_known_length(load: float) -> None:
    replica, workload = world(**FIXED, output="constant(1)")
    limit = limit_rps(replica, workload)
    assert limit == pytest.approx(8 / 0.18, rel=1e-3)
    service = AffineService(base_s=0.1, slope_s=0.01)
    exact = BatchQueue(rate_rps=load * limit, service=service, max_batch=8).solve()
    found = predict(replica, workload, rate_rps=load * limit)
    assert exact.mean_response_s is not None
    assert exact.response is not None
    assert found.mean_ttft_s == pytest.approx(exact.mean_response_s, rel=0.01)
    assert found.p99_ttft_s == pytest.approx(float(exact.response.ppf(0.99)), rel=0.02)
    assert found.mean_tpot_s is None


@pytest.mark.parametrize("max_seqs", [1, 8])
def test_formulas_are_near_the_queue_with_batches_of_known_length(max_seqs: int) -> None:
    replica, workload = world(**FIXED | {"max_seqs": max_seqs}, output="constant(1)")
    limit, service = limit_rps(replica, workload), AffineService(base_s=0.1, slope_s=0.01)
    loads = (0.2, 0.5, 0.8, 0.9, 0.95)
    for load, found in zip(
        loads, sweep(replica, workload, [x * limit for x in loads], tier="closed"), strict=True
    ):
        exact = BatchQueue(rate_rps=load * limit, service=service, max_batch=max_seqs).solve()
        assert exact.mean_response_s is not None
        assert exact.response is not None
        assert found.mean_ttft_s == pytest.approx(exact.mean_response_s, rel=0.04)
        assert found.p99_ttft_s == pytest.approx(float(exact.response.ppf(0.99)), rel=0.12)


def test_outputs_of_one_length_have_the_time_per_token_of_their_batch() -> None:
    replica, workload = world(**FIXED, output="constant(11)")
    one_s = 0.1 + 0.0001  # a step of one decode
    alone = predict(replica, workload, rate_rps=0.001)
    assert alone.mean_tpot_s == pytest.approx(one_s, rel=1e-3)
    assert alone.mean_e2e_s == pytest.approx(0.11 + 10 * one_s, rel=0.01)
    full = predict(replica, workload, rate_rps=0.97 * limit_rps(replica, workload))
    assert full.p50_tpot_s == pytest.approx(0.1 + 8 * 0.0001, rel=0.01)


def test_who_finds_nobody_waits_for_its_prompt_alone_however_long_batches_may_be() -> None:
    long = {"output": "lognormal(mean=2000,cv=1.5)", "prompt": "uniform(low=400,high=1600)", "max_seqs": 4}
    replica, workload = world(**CHAT | long)
    load = 0.02  # some 6 % find somebody
    point = predict(replica, workload, rate_rps=load * limit_rps(replica, workload))
    alone = {
        tokens: predict(
            *world(**CHAT | long | {"prompt": f"constant({tokens})"}), rate_rps=1e-6, tier="closed"
        )
        for tokens in (1000, 1600)
    }
    assert point.p50_ttft_s == pytest.approx(alone[1000].mean_ttft_s, rel=0.1)
    assert alone[1000].mean_ttft_s < point.p90_ttft_s <= 1.01 * alone[1600].mean_ttft_s
    assert point.ttft_good_frac > 0.9


@pytest.mark.parametrize("changes", [{}, {"kv_blocks": 800}, {"max_seqs": 4}, {"arrivals": "gamma(cv=2)"}])
@pytest.mark.parametrize("tier", TIERS)
def test_latencies_grow_with_the_load_whatever_binds(changes: dict[str, object], tier: str) -> None:
    replica, workload = world(**CHAT | changes)
    limit = limit_rps(replica, workload)
    points = sweep(replica, workload, [share * limit for share in (0.2, 0.5, 0.8, 0.95)], tier=tier)
    for name in ("mean_ttft_s", "p99_ttft_s", "mean_tpot_s", "mean_e2e_s", "mean_decoding"):
        values = [getattr(point, name) for point in points]
        assert values == sorted(values)


@pytest.mark.parametrize(
    "changes", [{"arrivals": "gamma(cv=2)"}, {"workload": "reasoning", "arrivals": "gamma(cv=3)"}], ids=str
)
def test_formulas_of_bursts_wait_longer_at_more_load_from_the_lowest_on(changes: dict[str, object]) -> None:
    replica, workload = world(**CHAT | changes)
    limit = limit_rps(replica, workload)
    points = sweep(
        replica, workload, [share * limit for share in (0.001, 0.01, 0.1, 0.3, 0.5)], tier="closed"
    )
    for name in ("mean_ttft_s", "p99_ttft_s", "mean_e2e_s", "p99_e2e_s"):
        values = [getattr(point, name) for point in points]
        assert values == sorted(values)


def test_what_binds_follows_from_what_a_batch_runs_out_of() -> None:
    binds = {}
    for name, changes in {"budget": {}, "memory": {"kv_blocks": 800}, "slots": {"max_seqs": 4}}.items():
        replica, workload = world(**CHAT | changes)
        binds[name] = predict(replica, workload, rate_rps=0.2, tier="closed").binds
    assert binds == {"budget": "token budget", "memory": "KV memory", "slots": "slots"}


def test_a_batch_that_must_wait_for_its_longest_member_takes_less_than_iterations_do() -> None:
    replica, workload = world(**CHAT)
    limit = limit_rps(replica, workload)
    assert limit < 0.5 * limit_rps(replica, workload, scheduler="chunked")
    with pytest.raises(UnstableError, match="not below the limit"):
        predict(replica, workload, rate_rps=1.01 * limit)


def test_a_batch_of_many_short_prompts_has_longer_outputs_where_the_two_go_together() -> None:
    rng = np.random.default_rng(5)
    prompts = rng.integers(500, 4500, 60_000)
    spare = (4600.0 - prompts) ** 3 / 4100**2
    outputs = 2 + (spare * rng.beta(0.3, 2.0, len(prompts))).astype(np.int64)
    replica, workload = world(**FIXED | {"max_seqs": 64})
    pairs = PairLengths(prompt_tokens=prompts, output_tokens=outputs)
    found = limit_rps(replica, replace(workload, lengths=pairs))
    start = steps = 0
    while start < len(prompts):  # batches as large as the budget lets them be
        tokens = np.cumsum(prompts[start : start + 64])
        fits = int(np.searchsorted(tokens, replica.budget_tokens, side="right"))
        steps += int(outputs[start : start + fits].max())  # the first of them computes the prompts
        start += fits
    exact = len(prompts) / (0.1 * steps + 0.0001 * float(prompts.sum() + (outputs - 1).sum()))
    assert found == pytest.approx(exact, rel=0.007)  # 0.013 apart if outputs did not depend on prompts
