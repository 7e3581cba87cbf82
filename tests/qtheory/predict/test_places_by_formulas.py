"""Waits for a place in closed form: those of Erlang where steps take the same time whoever runs."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.predict import limit_rps, sweep
from qtheory.predict._closed import formulas_of
from qtheory.predict._models import prepared
from qtheory.predict._steps import Rule
from qtheory.queues.multi import erlang_c
from tests.qtheory.predict.worlds import world

SAME = {
    "hardware": "a100",
    "step_time": "linear(base_s=0.02)",
    "prompt": "constant(16)",
    "kv_blocks": 100_000,
}
LOADS = np.array([0.8, 0.9, 0.97])


@pytest.mark.parametrize("max_seqs", [10, 40])
def test_as_many_wait_for_a_place_as_with_so_many_servers(max_seqs: int) -> None:
    asked = world(**SAME, output="exponential(mean=200)", max_seqs=max_seqs, budget_tokens=8192)
    model, setting = prepared(*asked, "chunked")
    rates = LOADS * model.limit(setting).rate_rps
    formulas = formulas_of(setting.in_order, Rule(mixed=True), setting.workload.arrivals)
    late, held = formulas.waits.slot_wait(rates, formulas.state(rates))
    exact = [erlang_c(n_servers=max_seqs, load=max_seqs * load) for load in LOADS.tolist()]
    assert late == pytest.approx(exact, abs=0.05)
    assert held == pytest.approx(200 * 0.02 / (max_seqs * (1 - LOADS)), rel=0.01)


def test_who_waits_for_a_place_waits_though_hardly_anybody_waits_for_the_budget() -> None:
    replica, workload = world(**SAME, output="exponential(mean=200)", max_seqs=10, scheduler="chunked")
    limit = limit_rps(replica, workload)
    found = sweep(replica, workload, (LOADS * limit).tolist())
    exact = [erlang_c(n_servers=10, load=10 * load) * 0.4 / (1 - load) for load in LOADS.tolist()]
    assert [point.mean_ttft_s for point in found] == pytest.approx(exact, rel=0.1)
    assert found[-1].mean_ttft_s == pytest.approx(exact[-1], rel=0.03)


def test_memory_that_holds_few_long_outputs_makes_more_wait_than_as_many_places() -> None:
    asked = {"hardware": "h100", "model": "llama-3.1-8b", "workload": "reasoning", "scheduler": "chunked"}
    tight = world(**asked, kv_blocks=8_000)
    limit = limit_rps(*tight)
    by_memory = sweep(*tight, [0.8 * limit])[0]
    n_places = round(by_memory.mean_decoding / 0.8)
    places = world(**asked, max_seqs=n_places)
    by_places = sweep(*places, [0.8 * limit_rps(*places)])[0]
    assert by_memory.binds == "KV memory"
    assert by_memory.mean_ttft_s > 1.5 * by_places.mean_ttft_s


@pytest.mark.parametrize(("scheduler", "within"), [("fcfs", 0.07), ("chunked", 0.1)])
def test_where_hardly_any_prompt_stalls_tokens_differ_by_how_many_run(scheduler: str, within: float) -> None:
    asked = world(hardware="l40s", model="llama-3.1-8b", workload="reasoning", scheduler=scheduler)
    rates = [0.6 * limit_rps(*asked)]
    closed, numeric = (sweep(*asked, rates, tier=tier)[0] for tier in ("closed", "numeric"))
    for name in ("p50_tpot_s", "p90_tpot_s", "p99_tpot_s"):
        assert getattr(closed, name) == pytest.approx(getattr(numeric, name), rel=within)
