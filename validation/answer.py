"""From a scenario to an answer by simulation: one run, schedulers side by side, rates in a sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from qtheory.system.provenance import Provenance
from qtheory.system.replica import ReplicaSpec, replica_of
from qtheory.system.results import RunResult
from qtheory.system.scenario import Scenario
from qtheory.system.workload import Workload
from qtheory.system.workload.from_scenario import workload_of
from qtheory.system.workload.request import Requests
from sim.engine import simulate, why_stepwise
from sim.policies import make_policy
from sim.record import Records
from sim.replica import Replica
from sim.summary import summarize

__all__ = ["Run", "compare", "requests_of", "run", "sweep"]

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A simulated scenario: what was served where, every request's record, and the numbers.

    Parameters
    ----------
    scenario : Scenario
    replica : ReplicaSpec
    workload : Workload
    records : Records
    result : RunResult
    stepwise : str or None
        Why the reference engine had to be used, if it was.
    """

    scenario: Scenario
    replica: ReplicaSpec
    workload: Workload
    records: Records
    result: RunResult
    stepwise: str | None


def requests_of(workload: Workload, seed: int) -> Requests:
    """The requests of a workload; schedulers judged with the same seed see the same ones."""
    return workload.generate(np.random.default_rng(seed))


def run(scenario: Scenario, *, n_windows: int = 0, requests: Requests | None = None) -> Run:
    """Simulate a scenario.

    Parameters
    ----------
    scenario : Scenario
    n_windows : int
        Windows of the timeline in the result, 0 for none.
    requests : Requests, optional
        Those of the scenario, if they were made already.

    Returns
    -------
    Run

    Raises
    ------
    ConfigError
        If the scenario names something unknown or impossible.

    Examples
    --------
    >>> answer = run(Scenario(hardware="rtx3050", rate_rps=2.0, duration_s=20.0))
    >>> answer.result.n_finished == answer.result.n_requests
    True
    """
    spec, workload = replica_of(scenario), workload_of(scenario)
    policy = make_policy(spec.scheduler)
    replica = Replica(
        step_time=spec.step_time,
        n_blocks=spec.n_blocks,
        block_tokens=spec.block_tokens,
        max_model_len_tokens=spec.max_model_len_tokens,
    )
    requests = requests if requests is not None else requests_of(workload, scenario.seed)
    records = simulate(
        requests,
        policy,
        replica,
        client_cap=workload.client_cap,
        think_s=workload.think_s,
        until_s=scenario.stop_s if scenario.stop_s is not None else float("inf"),
    )
    result = summarize(
        records,
        workload.slo,
        scheduler=scenario.scheduler,
        rate_rps=workload.offered_rps,
        budget_tokens=spec.budget_tokens,
        peak=spec.roofline,
        n_windows=n_windows,
        speed=scenario.speed if scenario.trace is not None else None,
        provenance=Provenance(scenario=scenario.changed(), seed=scenario.seed),
    )
    return Run(
        scenario=scenario,
        replica=spec,
        workload=workload,
        records=records,
        result=result,
        stepwise=why_stepwise(requests, policy, replica),
    )


def compare(scenario: Scenario, schedulers: Sequence[str], *, progress: Progress | None = None) -> list[Run]:
    """The same requests under each scheduler."""
    return _all([replace(scenario, scheduler=name) for name in schedulers], progress)


def sweep(
    scenario: Scenario,
    schedulers: Sequence[str],
    rates_rps: Sequence[float],
    *,
    progress: Progress | None = None,
) -> list[Run]:
    """Each scheduler at each rate, in this order; the same lengths, the same arrivals closer together."""
    return _all(
        [replace(scenario, scheduler=name, rate_rps=rate) for name in schedulers for rate in rates_rps],
        progress,
    )


def _all(scenarios: Sequence[Scenario], progress: Progress | None) -> list[Run]:
    runs = []
    for n, scenario in enumerate(scenarios):
        runs.append(run(scenario))
        if progress is not None:
            progress(n + 1, len(scenarios))
    return runs
