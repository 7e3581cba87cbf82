"""The baselines are what they are said to be where that is known."""

from __future__ import annotations

import pytest

from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload.from_scenario import workload_of
from validation.agreement.baselines import BASELINES, baseline

FIXED = Scenario(
    hardware="rtx3050",
    step_time="linear(base_s=0.1)",
    prompt="constant(16)",
    output="constant(2)",
    scheduler="fcfs",
    kv_blocks=1000,
    max_seqs=1,
)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.9])
def test_one_slot_and_constant_work_give_the_queue_with_constant_service(load: float) -> None:
    found = baseline("M/G/1", replica_of(FIXED), workload_of(FIXED), load / 0.2)
    assert found["mean_ttft_s"] == pytest.approx(0.1 + 0.2 * load / (2 * (1 - load)), rel=1e-6)


@pytest.mark.parametrize("name", BASELINES)
def test_nothing_is_said_above_the_limit(name: str) -> None:
    assert baseline(name, replica_of(FIXED), workload_of(FIXED), 11.0) == {}


@pytest.mark.parametrize("name", BASELINES)
def test_waits_grow_with_the_rate(name: str) -> None:
    scenario = Scenario(hardware="a100", model="llama-3.1-8b", workload="chat")
    waits = [
        baseline(name, replica_of(scenario), workload_of(scenario), rate)["mean_ttft_s"]
        for rate in (2.0, 5.0, 8.0)
    ]
    assert waits == sorted(waits)
    assert waits[0] > 0
