"""Shortest outputs first: the last step of a prompt, and what is behind it when that ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from qtheory.predict._behind import Behind
from qtheory.predict._by_length import groups_of, prompt_waits
from qtheory.predict._last_step import LastStep
from qtheory.predict._models import prepared
from qtheory.predict.demand import Demand
from qtheory.predict.inputs import Engine
from tests.qtheory.predict.worlds import world

TOKENS = 1000
AHEAD = np.asarray(0.4 * 0.6 ** np.arange(60), dtype=np.float64)


def engine() -> Engine:
    replica, workload = world(hardware="rtx3050", model="llama-3.2-1b", workload="chat", scheduler="sjf",
                              prompt=f"constant({TOKENS})")  # fmt: skip
    return prepared(replica, workload, None)[1].engine


def last(demand: Demand, budget_tokens: float, cell: float = TOKENS) -> LastStep:
    return LastStep(demand=demand, budget_tokens=budget_tokens, ahead=AHEAD, cell=cell)


def test_of_what_is_ahead_all_that_fits_beside_a_prompt_goes_in_its_step() -> None:
    demand = engine().demand
    assert last(demand, TOKENS).beside == pytest.approx(np.zeros(60))  # a step for each prompt
    assert last(demand, TOKENS).apart == 1.0
    halves = last(demand, 2.5 * TOKENS, TOKENS / 2).beside
    assert halves[:9] == pytest.approx([0, 1, 2, 3, 0, 0, 1, 2, 3])
    assert last(demand, 1e6).apart == pytest.approx(0.0, abs=1e-9)
    assert last(demand, 0.6 * TOKENS).own_tokens == pytest.approx(0.4 * TOKENS)  # in two steps


def test_what_finds_no_room_in_the_last_step_waits_for_the_next() -> None:
    demand = engine().demand
    moved = np.array([1.0, 500.0, 5e4])
    none = last(demand, TOKENS).beyond(moved, TOKENS)
    assert none == pytest.approx(moved, rel=0.01)
    half = last(demand, 2 * TOKENS).beyond(moved, TOKENS)
    assert np.all(np.diff(half / moved) > 0)  # of many more in proportion
    assert last(demand, 1e7).beyond(moved, TOKENS)[:2] == pytest.approx(0.0, abs=1e-9)


def test_behind_are_those_of_longer_outputs_who_waited_and_who_come_meanwhile() -> None:
    system = engine()
    demand = system.demand
    waits = prompt_waits(system, 0.9, 1.0).tokens
    _, weights, _ = groups_of(demand)
    rate_rps, step_s = 0.9, 1.0  # a prompt a step
    behind = Behind(last=last(demand, TOKENS), rate_rps=rate_rps, step_s=step_s, alone_s=0.0)
    found = behind.ratios(waits, 0.0)
    assert weights @ found == pytest.approx(1.0)
    assert np.all(np.diff(found) < 0)
    mean_s = weights @ waits / TOKENS
    share = found * (mean_s + step_s) - step_s  # by Little's law; in the own step as many come behind all
    assert share[0] == pytest.approx(mean_s + waits[0] / TOKENS, rel=0.02)
    assert share[-1] == pytest.approx(weights[-1] * waits[-1] / TOKENS, rel=0.05)


def test_where_a_step_holds_whole_bursts_nobody_is_behind_by_the_order() -> None:
    demand = replace(engine().demand, burstiness=4.0)
    waits = prompt_waits(replace(engine(), demand=demand), 0.5, 1.0).tokens
    narrow, wide = (
        Behind(last=last(demand, budget), rate_rps=0.5, step_s=1.0, alone_s=0.0) for budget in (TOKENS, 1e6)
    )
    assert narrow.ratios(waits, 0.0)[0] > 1.5
    assert wide.ratios(np.zeros_like(waits), 0.0) == pytest.approx(1.0, abs=0.02)
