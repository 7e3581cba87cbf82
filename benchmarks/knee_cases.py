"""Systems whose knee is looked for many times: engines with small requests, and queues that are solved."""

from __future__ import annotations

from dataclasses import dataclass, replace

from qtheory.system.scenario import Scenario
from validation._sampled import Plan, Sample, sample
from validation.knees.solved import SolvedQueue

__all__ = ["CASES", "Case"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One system with a name.

    Parameters
    ----------
    name : str
    scenario : Scenario
        Of a queue that is solved the seed alone counts.
    solved : SolvedQueue or None
        What is simulated in place of the scenario.
    """

    name: str
    scenario: Scenario
    solved: SolvedQueue | None = None

    def seeded(self, seed: int) -> Scenario:
        """The scenario with random numbers of its own."""
        return replace(self.scenario, seed=seed)

    def simulate(self, plan: Plan, rate_rps: float, n_requests: int, index: int) -> Sample:
        """One run, as `validation.refine.sample`."""
        if self.solved is not None:
            return self.solved(plan, rate_rps, n_requests, index)
        return sample(plan, rate_rps, n_requests, index)


_SMALL = Scenario(
    hardware="rtx3050",
    prompt="lognormal(mean=300,cv=0.5)",
    output="lognormal(mean=20,cv=0.5)",
    ttft_slo_s=0.3,
)
CASES = {
    case.name: case
    for case in (
        Case(name="chunked", scenario=_SMALL),
        Case(name="fcfs", scenario=replace(_SMALL, scheduler="fcfs")),
        Case(name="mm1", scenario=_SMALL, solved=SolvedQueue(knee_rps=0.85)),
        Case(name="mm1-steep", scenario=_SMALL, solved=SolvedQueue(knee_rps=0.95)),
        Case(name="rag", scenario=Scenario(hardware="rtx3050", workload="rag")),
    )
}
"""By name; a study of the last takes a minute."""
