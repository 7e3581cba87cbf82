"""Shortest outputs first: waits by length, and the two sides of the limit."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from qtheory.basics.errors import ConvergenceError
from qtheory.predict import limit_rps, predict
from qtheory.predict._backlog import Backlog
from qtheory.predict._by_length import ahead_by_rank, groups_of, place_ratios, prompt_waits
from qtheory.predict._models import prepared
from qtheory.predict._steps import Rule
from qtheory.predict.inputs import Engine
from tests.qtheory.predict.worlds import world

CHAT = {"hardware": "rtx3050", "model": "llama-3.2-1b", "workload": "chat", "scheduler": "sjf"}


@pytest.mark.parametrize("busy", [0.3, 0.9])
def test_the_order_moves_waits_and_makes_none(busy: float) -> None:
    replica, workload = world(**CHAT)
    engine = prepared(replica, workload, None)[1].engine
    _, weights, prompts = groups_of(engine.demand)
    waits = prompt_waits(engine, busy, 1e-3)
    work = weights * prompts / (weights @ prompts)  # by which the waits are conserved without preemption
    assert work @ waits.tokens == pytest.approx(waits.in_order_tokens, rel=1e-3)
    assert np.all(np.diff(waits.tokens) > 0)


def test_of_a_burst_the_shortest_outputs_see_little_and_the_longest_all() -> None:
    replica, workload = world(**CHAT)
    engine = prepared(replica, workload, None)[1].engine
    bursty = replace(engine, demand=replace(engine.demand, burstiness=4.0))
    plain, burst = prompt_waits(engine, 0.8, 1.0), prompt_waits(bursty, 0.8, 1.0)
    more = burst.tokens / plain.tokens
    assert more[0] < 1.01 < 1.5 < more[-1]
    assert burst.mates[0] < 0.1
    assert burst.mates[-1] > 2 * (bursty.demand.mean_batch - 1)


def test_waits_for_places_go_by_numbers_in_a_short_time_and_by_decode_steps_in_a_long_one() -> None:
    replica, workload = world(**CHAT)
    demand = prepared(replica, workload, None)[1].engine.demand
    short, long = (place_ratios(demand, 0.9, steps) for steps in (1e-6, np.inf))
    _, weights, _ = groups_of(demand)
    sigma = 0.9 * np.cumsum(weights)
    by_number = 0.1 * np.cumsum(weights) / ((1 - sigma) * (1 - sigma + 0.9 * weights))
    assert short == pytest.approx(by_number, rel=2e-3)
    assert weights @ long < weights @ short


def test_outputs_of_one_length_go_in_order_of_arrival() -> None:
    replica, workload = world(**CHAT | {"output": "constant(61)"})
    engine = prepared(replica, workload, None)[1].engine
    steps, weights, _ = groups_of(engine.demand)
    assert steps.tolist() == [60.0]
    assert weights == pytest.approx([1.0])
    assert place_ratios(engine.demand, 0.9, 10.0) == pytest.approx(1.0)
    waits = prompt_waits(engine, 0.9, 1e-3)
    assert waits.tokens == pytest.approx(waits.in_order_tokens, rel=1e-3)


def test_the_shortest_outputs_wait_for_one_prompt_and_the_longest_for_all() -> None:
    replica, workload = world(hardware="l40s", model="qwen2.5-14b", workload="rag", scheduler="sjf")
    engine = prepared(replica, workload, None)[1].engine
    busy, cell, n = 0.9, 500.0, 200
    one = float(engine.weighted_tokens.max()) / cell
    law = np.asarray(0.9 ** np.arange(n), dtype=np.float64)
    in_order, *by_length = ahead_by_rank(engine, busy, cell, law)
    assert np.all(np.diff(by_length, axis=0) >= -1e-9)
    assert by_length[-1] == pytest.approx(in_order, rel=1e-9)
    assert by_length[0][-1] < 1.1 * one < in_order[-1] / 3


@pytest.mark.parametrize("tier", ["numeric", "closed"])
def test_both_sides_of_the_limit_meet(tier: str) -> None:
    replica, workload = world(**CHAT)
    limit = limit_rps(replica, workload)
    below, above = (
        predict(replica, workload, rate_rps=load * limit, tier=tier) for load in (1 - 1e-4, 1 + 1e-4)
    )
    assert above.goodput_frac == pytest.approx(below.goodput_frac, abs=2e-3)
    assert above.goodput_frac <= below.goodput_frac
    assert above.mean_tpot_s == pytest.approx(below.mean_tpot_s, rel=5e-3)


def test_a_chain_that_is_asked_at_a_lower_load_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("qtheory.predict._sjf")
    replica, workload = world(**CHAT, max_seqs=8)  # where slots bind, not memory
    rate_rps = 0.92 * limit_rps(replica, workload)
    solve = module.settled

    def cut_off(engine: Engine, rule: Rule, at_rps: float) -> Backlog:
        if at_rps >= rate_rps:
            raise ConvergenceError("what waits reaches beyond the mesh")
        found: Backlog = solve(engine, rule, at_rps)
        return found

    said = "it is asked at a load of 0.90"
    assert not any(said in text for text in predict(replica, workload, rate_rps=rate_rps).warnings)
    monkeypatch.setattr(module, "settled", cut_off)
    assert any(said in text for text in predict(replica, workload, rate_rps=rate_rps).warnings)
