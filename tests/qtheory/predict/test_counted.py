"""Steps of whole cells of prompt tokens, and those of the tokens that the cells stand for."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.predict._cells import Inflow
from qtheory.predict._counted import on_cells
from qtheory.predict._setting import Setting
from qtheory.predict._steps import Rule, StepTable
from qtheory.predict.inputs import Engine
from qtheory.predict.limits import limit_of
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload.from_scenario import workload_of

_CHUNKED = Rule(mixed=True)
_RUNNING = 110.0


@pytest.fixture(scope="module")
def engine() -> Engine:
    scenario = Scenario(
        hardware="h100", model="llama-3.1-8b", workload="chat", scheduler="chunked", rate_rps=19.0
    )
    return Setting.of(replica_of(scenario), workload_of(scenario), 19.0).in_order


@pytest.mark.parametrize("full_cells", [2, 3, 5, 12])
def test_steps_take_as_long_in_the_mean_whatever_the_cells(engine: Engine, full_cells: int) -> None:
    room = _CHUNKED.room_tokens(engine, _RUNNING)
    per_step = 0.5
    alone = engine.decode_s(_RUNNING)

    def mean_s(cells: int) -> float:
        cell, n = room / cells, 40 * cells
        table = StepTable(engine, _CHUNKED, cell, cells, per_step)
        come = Inflow.of(
            engine.demand, engine.weighted_tokens, engine.work.given_prompt,
            rate_rps=1.0, cell=cell, n=n, times_s=np.array([per_step, 2 * per_step]),
        ).laws[0]  # fmt: skip
        taken = np.minimum(np.arange(n), cells)
        return float(come @ table.seconds(np.full(n, _RUNNING), taken, cells)) - alone

    assert mean_s(full_cells) == pytest.approx(mean_s(96), rel=0.012)


@pytest.mark.parametrize("scheduler", ["chunked", "fcfs"])
def test_steps_that_wait_for_slots_add_up_to_the_limit(engine: Engine, scheduler: str) -> None:
    rule = Rule(mixed=scheduler == "chunked")
    limit = limit_of(engine, rule)
    table = StepTable(engine, rule, 400.0, 4)
    n = np.array([limit.running])
    ends = limit.running / engine.demand.mean_decode
    more = float(table.held_up_s(n, ends * np.array([engine.demand.mean_prompt]))[0])
    assert ends / (float(table.decode_s(n)[0]) + more) == pytest.approx(limit.rate_rps, rel=0.01)


def test_a_line_stays_a_line() -> None:
    parts, cells = 4, 3
    exact = np.arange(parts * cells + 1.0)[None, :] / parts
    law, counted = np.full(parts * cells + 1, 0.02), np.array([0.5, 0.2])
    assert on_cells(exact, law, counted, parts)[0] == pytest.approx(np.arange(cells + 1.0))
