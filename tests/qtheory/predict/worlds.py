"""Systems whose answer is known."""

from __future__ import annotations

from dataclasses import replace

from qtheory.system.replica import ReplicaSpec, replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload import Workload
from qtheory.system.workload.from_scenario import workload_of


def world(**changes: object) -> tuple[ReplicaSpec, Workload]:
    """Replica and workload of a scenario."""
    scenario = Scenario(**changes)  # type: ignore[arg-type]
    return replica_of(scenario), workload_of(replace(scenario, rate_rps=scenario.rate_rps or 1.0))
