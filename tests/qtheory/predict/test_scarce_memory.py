"""Where memory is scarce: how fast it is worked off, and in what clumps prompts begin.

``python -m tests.qtheory.predict.simulated limit`` and ``clumps`` make the simulated numbers again.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from qtheory.basics.errors import ConvergenceError
from qtheory.predict import limit_rps, predict
from qtheory.predict._release import releases_per_step
from qtheory.predict.demand import demand_of
from qtheory.predict.inputs import engine_of
from qtheory.predict.limits import Rule, limit_of
from tests.qtheory.predict.worlds import world

MOE = {"hardware": "h100", "model": "qwen3-30b-a3b"}
CODE = MOE | {"workload": "code", "kv_blocks": 3828}
CHAT = MOE | {"workload": "chat", "kv_blocks": 2739}
RAG = {"hardware": "a100", "model": "qwen2.5-14b", "workload": "rag", "kv_blocks": 8128}


@pytest.mark.parametrize(
    ("machine", "scheduler", "simulated_rps"),
    [(CODE, "fcfs", 22.11), (CHAT, "fcfs", 5.87), (CODE, "chunked", 27.42), (RAG, "chunked", 1.866)],
)
def test_the_limit_is_that_of_the_simulator(
    machine: dict[str, object], scheduler: str, simulated_rps: float
) -> None:
    """Simulated: a queue that never empties, 15,000 to 240,000 requests."""
    replica, workload = world(**machine, scheduler=scheduler)
    assert limit_rps(replica, workload) == pytest.approx(simulated_rps, rel=0.015)


@pytest.mark.parametrize(("machine", "simulated"), [(CODE, 0.513), (CHAT, 0.0955)])
def test_prompts_begin_in_clumps(machine: dict[str, object], simulated: float) -> None:
    """Simulated: steps of prompts to steps of decodes; one a request would be 1.13 and 0.165."""
    replica, workload = world(**machine, scheduler="fcfs")
    engine = engine_of(replica, demand_of(workload))
    assert releases_per_step(engine, engine.slots) == pytest.approx(simulated, rel=0.13)


def test_memory_that_is_held_up_costs_less_than_either_limit_alone() -> None:
    replica, workload = world(**CODE, scheduler="chunked")
    engine = engine_of(replica, demand_of(workload))
    found = limit_of(engine, Rule(mixed=True))
    ample, _ = world(**CODE | {"kv_blocks": 100_000}, scheduler="chunked")
    free = limit_of(engine_of(ample, demand_of(workload)), Rule(mixed=True))
    assert found.binds == free.binds == "token budget"
    assert found.rate_rps < 0.95 * free.rate_rps
    assert found.running < min(free.running, engine.slots)


def test_memory_work_has_the_mean_of_the_decodes_and_varies_more() -> None:
    replica, workload = world(**CHAT, scheduler="fcfs")
    engine = engine_of(replica, demand_of(workload))
    assert not engine.is_memory_work  # unless asked for
    work, demand = replace(engine, counts_tokens=True).work, engine.demand
    assert float(work.given_prompt @ demand.prompt_probs) == pytest.approx(demand.mean_decode)
    assert work.spread > 1.2
    assert work.unit_full_steps > demand.mean_decode / 2


def test_next_to_the_limit_a_law_that_the_mesh_cuts_off_is_no_answer() -> None:
    replica, workload = world(hardware="l40s", model="llama-3.1-8b", workload="rag", scheduler="fcfs")
    limit = limit_rps(replica, workload)
    assert predict(replica, workload, rate_rps=0.9 * limit).mean_ttft_s < 2.0
    with pytest.raises(ConvergenceError, match="reaches beyond the mesh"):
        predict(replica, workload, rate_rps=0.997 * limit)


def test_coarser_cells_that_reach_further_do_not_make_waits_short_next_to_the_limit() -> None:
    machine = {"hardware": "a100", "model": "qwen2.5-14b", "workload": "chat", "kv_blocks": 2739}
    replica, workload = world(**machine, scheduler="chunked")
    limit = limit_rps(replica, workload)
    busy, busier = (predict(replica, workload, rate_rps=load * limit) for load in (0.93, 0.95))
    assert busy.mean_ttft_s < busier.mean_ttft_s
    assert busy.p99_ttft_s < busier.p99_ttft_s
    assert busy.mean_decoding < busier.mean_decoding
