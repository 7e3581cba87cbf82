"""Slots that are all taken, bursts, and queues beyond the first cells."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from qtheory.predict import limit_rps, predict
from qtheory.predict._backlog import solve_backlog
from qtheory.predict._bursts import bursts_of
from qtheory.predict._drafts import make_mesh
from qtheory.predict._first_token import first_token
from qtheory.predict._followers import followed
from qtheory.predict._mesh import StepsAt
from qtheory.predict._models import prepared
from qtheory.predict._setting import Setting
from qtheory.predict._settled import settled
from qtheory.predict._steps import Rule
from qtheory.system.workload import OpenArrivals
from tests.qtheory.predict.worlds import world

FIXED = {"hardware": "rtx3050", "step_time": "linear(base_s=0.1)", "prompt": "constant(16)", "max_seqs": 1}
BURSTY = {
    "hardware": "h100",
    "model": "qwen2.5-14b",
    "workload": "summarize",
    "arrivals": "gamma(cv=2)",
    "budget_tokens": 512,
}


def _setting(load: float, **changes: object) -> Setting:
    replica, workload = world(**changes)
    model, setting = prepared(replica, workload, None)
    limit = model.limit(setting).rate_rps
    return setting.at_rate(load * limit, limit)


@pytest.mark.parametrize(("output", "steps"), [("constant(2)", 2), ("constant(5)", 5)])
def test_one_slot_takes_one_request_after_another(output: str, steps: int) -> None:
    replica, workload = world(**FIXED, output=output, kv_blocks=100, scheduler="fcfs")
    assert limit_rps(replica, workload) == pytest.approx(1 / (0.1 * steps), rel=0.01)


def test_with_all_slots_taken_only_so_many_steps_take_a_prompt_as_requests_end() -> None:
    setting = _setting(0.9, hardware="a100", model="qwen2.5-14b", workload="chat", kv_blocks=1000)
    engine = setting.engine
    mesh = make_mesh(engine, Rule(mixed=True), setting.rate_rps)
    chain = StepsAt.of(mesh, engine.slots)
    alone, one = engine.decode_s(engine.slots), engine.step_s(engine.demand.mean_prompt, engine.slots)
    share = engine.slots / engine.demand.mean_decode
    assert share < 0.5
    assert alone < chain.seconds[-1] < alone + 2 * share * (one - alone)
    assert chain.rows.sum(axis=1) == pytest.approx(1.0)


def test_full_slots_do_not_make_every_gap_as_long_as_a_step_with_a_prompt() -> None:
    changes = {"hardware": "a100", "model": "qwen2.5-14b", "workload": "chat", "kv_blocks": 1600}
    replica, workload = world(**changes)
    limit = limit_rps(replica, workload)
    low, high = (predict(replica, workload, rate_rps=load * limit) for load in (0.6, 0.88))
    assert high.p99_tpot_s is not None
    assert low.p99_tpot_s is not None
    assert high.p99_tpot_s < 1.5 * low.p99_tpot_s


def test_prompts_that_follow_add_their_mean_number_and_no_mass() -> None:
    setting = _setting(0.5, hardware="a100", model="llama-3.1-8b", workload="chat")
    mesh = make_mesh(setting.engine, Rule(mixed=True), setting.rate_rps)
    law = np.zeros(mesh.n_w)
    law[0] = 1.0
    found = followed(mesh, law, 0.5)
    assert found.sum() == pytest.approx(1.0)
    tokens = float(found @ np.arange(mesh.n_w)) * mesh.cell
    assert tokens == pytest.approx(0.5 * setting.engine.demand.mean_prompt, rel=0.02)


@pytest.mark.parametrize(("scheduler", "budget_tokens"), [("fcfs", None), ("chunked", 512)])
def test_a_higher_load_sees_more_of_the_bursts_up_to_all_of_them(
    scheduler: str, budget_tokens: int | None
) -> None:
    replica, workload = world(**BURSTY | {"budget_tokens": budget_tokens}, scheduler=scheduler)
    model, setting = prepared(replica, workload, None)
    limit, arrivals = model.limit(setting).rate_rps, workload.arrivals
    assert isinstance(arrivals, OpenArrivals)
    seen = [
        bursts_of(arrivals, setting.engine, load * limit, limit, mixed=scheduler == "chunked")
        for load in (0.05, 0.2, 0.5, 0.8, 0.95)
    ]
    queueing = [first for first, _ in seen]
    assert queueing == sorted(queueing)
    assert queueing[0] > 1
    assert all(first <= running <= 4 + 1e-9 for first, running in seen)


def test_queues_of_more_tokens_than_steps_of_a_small_budget_reach_are_held() -> None:
    setting = _setting(0.85, **BURSTY, scheduler="chunked")
    found = settled(setting.engine, Rule(mixed=True), setting.rate_rps)
    assert found.mesh.cell * found.mesh.n_w > 30 * setting.engine.demand.mean_prompt
    assert float(found.in_time[-3:].sum()) < 2e-3


def test_how_long_requests_wait_for_a_slot_does_not_depend_on_where_the_levels_lie() -> None:
    code = {"hardware": "h100", "model": "qwen3-30b-a3b", "workload": "code", "kv_blocks": 60_000}
    setting = _setting(0.8, **code, scheduler="fcfs")
    mesh = make_mesh(setting.engine, Rule(mixed=False), setting.rate_rps)
    top = mesh.level * (mesh.n_y - 1)
    found = []
    for width in (4.2, 4.05):
        level = mesh.met_by(width, top)
        assert setting.engine.slots / level == pytest.approx(round(setting.engine.slots / level))
        finer = replace(mesh, level=level, n_y=math.ceil(top / level) + 1, n_up=2)
        found.append(first_token(solve_backlog(finer)).law.mean_s)
    assert max(found) < 1.02 * min(found)
