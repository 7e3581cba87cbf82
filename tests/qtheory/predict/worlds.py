"""Systems whose answer is known."""

from __future__ import annotations

from dataclasses import replace

from qtheory.system.replica import ReplicaSpec, replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload import Workload
from qtheory.system.workload.from_scenario import workload_of

FIXED: dict[str, object] = {
    "hardware": "a100",
    "model": "llama-3.1-8b",
    "kv_blocks": 100_000,
    "scheduler": "static",
    "step_time": "linear(base_s=0.1,per_token_s=0.0001)",
    "prompt": "constant(100)",
    "max_seqs": 8,
}
"""Batches of requests that are alike: a step of b prompts takes 0.1 s and 0.01 s for each."""


def world(**changes: object) -> tuple[ReplicaSpec, Workload]:
    """Replica and workload of a scenario."""
    scenario = Scenario(**changes)  # type: ignore[arg-type]
    return replica_of(scenario), workload_of(replace(scenario, rate_rps=scenario.rate_rps or 1.0))
