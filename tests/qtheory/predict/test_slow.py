"""Requests that hold much beside each other: what it does to their steps, by two models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from qtheory.predict import limit_rps, predict
from qtheory.predict._beside import Beside
from qtheory.predict._pool_decode import DecodePool
from qtheory.predict._pool_link import SHARES
from qtheory.predict._slow import Slow
from qtheory.predict.demand import demand_of
from qtheory.predict.inputs import engine_of
from tests.qtheory.predict.worlds import world

HOLDS = {
    "hardware": "a100",
    "model": "llama-3.1-8b",
    "prompt": "constant(1)",
    "output": "uniform(low=200,high=6000)",
    "step_time": "linear(base_s=0.01,per_context_token_s=2e-7)",
    "kv_blocks": 1_000_000,
    "max_seqs": 256,
}


@pytest.mark.parametrize("scheduler", ["chunked", "fcfs"])
def test_hardly_any_prompts_leave_a_decode_instance(scheduler: str) -> None:
    replica, workload = world(**HOLDS, scheduler=scheduler)
    rate_rps = 0.5 * limit_rps(replica, workload)
    found = predict(replica, workload, rate_rps=rate_rps)
    pool = DecodePool(engine=engine_of(replica, demand_of(workload)), rate_rps=rate_rps, n_equal=1)
    _, probs, _ = pool.engine.demand.decode_groups
    gaps, weights = pool.per_token_s().ravel(), np.outer(probs, SHARES).ravel()
    order = np.argsort(gaps)
    below = np.cumsum(weights[order]) / weights.sum()
    assert found.mean_tpot_s == pytest.approx(float(gaps @ weights) / weights.sum(), rel=0.02)
    for level, value in ((0.5, found.p50_tpot_s), (0.99, found.p99_tpot_s)):
        assert value == pytest.approx(float(np.interp(level, below, gaps[order])), rel=0.03)


def _slow(by_tokens: float, growth: float) -> Slow:
    _, workload = world(**HOLDS)
    return Slow(
        memory_s=10.0,
        slope_s=0.001,
        by_number_s=0.003,
        together=0.0,
        growth=growth,
        beside=Beside(demand=demand_of(workload), by_tokens=by_tokens),
        held=9.0,
    )


def test_what_requests_hold_themselves_is_no_more_than_usual_in_the_mean_over_steps() -> None:
    slow = _slow(0.8, 0.0)
    demand = slow.beside.demand
    steps, probs = demand.decode_steps[1:], demand.decode_probs[1:]  # but for outputs of one token
    prompts = demand.prompt_given_decode[1:]
    own_s = slow.own_s(steps, prompts)
    assert float(probs * steps @ own_s) == pytest.approx(0.0, abs=1e-3 * float(probs * steps @ np.abs(own_s)))
    assert float(probs * steps @ _slow(0.8, 0.4).own_s(steps, prompts)) > 0


def test_where_steps_go_by_numbers_tokens_add_nothing() -> None:
    second, third = _slow(0.0, 0.0).tokens(np.array([10.0, 5000.0]))
    assert second == pytest.approx(np.zeros(2), abs=1e-12)
    assert third == pytest.approx(np.zeros(2), abs=1e-15)
    assert _slow(0.0, 0.4).lift(0.02) == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize(("per_token_s", "is_less"), [(0.0, False), (1e-4, True)])
def test_a_decode_instance_short_of_memory_pays_for_prompts_that_it_computes_again(
    per_token_s: float, is_less: bool
) -> None:
    scarce = HOLDS | {
        "prompt": "constant(500)",
        "output": "constant(301)",
        "kv_blocks": 1_000,
        "step_time": f"linear(base_s=0.01,per_token_s={per_token_s})",
    }
    replica, workload = world(**scarce, scheduler="fcfs")
    engine = engine_of(replica, demand_of(workload))
    assert engine.is_kv_limited
    roomy = replace(engine, max_seqs=engine.slots, kv_tokens=1e9)  # type: ignore[arg-type]  # not whole
    limits = [DecodePool(engine=one, rate_rps=0.1, n_equal=1).limit_rps for one in (engine, roomy)]
    if is_less:
        assert limits[0] < 0.97 * limits[1]
    else:
        assert limits[0] == pytest.approx(limits[1])


def test_a_request_that_is_nearly_always_alone_takes_steps_of_one() -> None:
    replica, workload = world(**HOLDS, scheduler="fcfs")
    engine = engine_of(replica, demand_of(workload))
    pool = DecodePool(engine=engine, rate_rps=1e-6 / engine.demand.mean_decode, n_equal=1)
    assert pool.gap_s == pytest.approx(engine.decode_s(1.0), rel=1e-3)
