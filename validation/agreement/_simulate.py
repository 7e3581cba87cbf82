"""A cell in the simulator, for as long as its numbers are not sharp enough to judge a prediction by."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qtheory.system.replica import ReplicaSpec
from qtheory.system.results import RunResult
from qtheory.system.scenario import Scenario
from qtheory.system.workload import PairLengths, Workload
from sim.cluster import why_pools_stepwise
from sim.engine import why_stepwise
from sim.policies import make_policy
from sim.record import Records
from sim.replica import Replica
from validation.answer import Study, run
from validation.answer.apart import is_apart, pool_cluster_of, pools_of
from validation.answer.point import build, requests_of

from .effort import Effort

__all__ = ["Asked", "asked", "asked_of_law", "numbers_of", "simulate_until", "within_reach"]

_MARGIN, _MOST_GROWTH, _LEAST_GROWTH = 1.2, 8.0, 1.6
OVERLOADED = "overloaded"
_STEPWISE_REQUESTS = 1_200  # where the engine visits every running request in every step
_APART_REQUESTS = 6_000  # where it visits every step of every instance


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The requests that were simulated, as a question to the theory."""

    replica: ReplicaSpec
    workload: Workload
    rate_rps: float


def within_reach(scenario: Scenario, effort: Effort) -> Effort:
    """The effort, or a small one where only the step-by-step engine can serve the requests."""
    point = build(replace(scenario, requests=effort.overload_requests, rate_rps=1.0), study_of(effort))
    spec = point.replica
    replica = Replica(
        step_time=spec.step_time,
        n_blocks=spec.n_blocks,
        block_tokens=spec.block_tokens,
        max_model_len_tokens=spec.max_model_len_tokens,
    )
    requests, policy, few = requests_of(point.workload, effort.seed), make_policy(spec.scheduler), None
    if is_apart(scenario):
        pools = pools_of(scenario, spec, policy, replica, pool_cluster_of(scenario))
        if why_pools_stepwise(requests, pools) is not None:
            few = min(_APART_REQUESTS, effort.most_requests)
    elif why_stepwise(requests, policy, replica) is not None:
        few = _STEPWISE_REQUESTS
    if few is None:
        return effort
    return replace(effort, first_requests=few, most_requests=few, overload_requests=few, knee_requests=0)


def simulate_until(
    scenario: Scenario, effort: Effort, wanted: Mapping[str, float]
) -> tuple[Scenario, RunResult, tuple[Records, ...]]:
    """Simulate, and again with more requests, until each half-width in ``wanted`` (relative) is reached.

    An overload has no steady state to wait for. Returned are the scenario with its number of requests and the
    records as well.
    """
    total = effort.first_requests
    while True:
        runs = math.ceil(total / effort.n_replications)
        scenario = replace(scenario, requests=runs, seed=effort.seed)
        served = run(scenario, study=replace(study_of(effort), keep_records=True))
        result = served.result
        lacking = max((half(result, name) / limit for name, limit in wanted.items()), default=0.0)
        hopeless = result.kind.startswith(OVERLOADED) or total >= effort.most_requests
        if lacking <= 1 or hopeless:
            return scenario, result, served.records
        growth = min(max(_MARGIN * lacking**2, _LEAST_GROWTH), _MOST_GROWTH)
        total = min(math.ceil(growth * total), effort.most_requests)


def study_of(effort: Effort) -> Study:
    return Study(steady=True, n_replications=effort.n_replications)


def half(result: RunResult, name: str) -> float:
    """Half-width of the 95 % interval of a column, relative to it; infinite if it has none."""
    value, limits = getattr(result, name), result.limits.get(name)
    if limits is None or not value:
        return math.inf
    low, high = limits
    return float((high - low) / 2 / value)


def numbers_of(result: RunResult) -> dict[str, float]:
    """Plain numbers of a result, with relative half-widths as ``NAME_half``."""
    found = {name: float(value) for name, value in result.row().items() if isinstance(value, int | float)}
    found["shed_frac"] = result.n_shed / max(result.n_requests, 1)
    halves = {f"{name}_half": half(result, name) for name in result.limits}
    return {name: value for name, value in (found | halves).items() if math.isfinite(value)}


def asked(scenario: Scenario, effort: Effort) -> Asked:
    """The lengths that were drawn, as a law, and their mean rate: so that a sample of long outputs that
    happens to be long is no error of the theory."""
    point = build(scenario, study_of(effort))
    samples = [requests_of(point.workload, scenario.seed, index) for index in range(effort.n_replications)]
    lengths = PairLengths(
        prompt_tokens=np.concatenate([each.prompt_tokens for each in samples]),
        output_tokens=np.concatenate([each.output_tokens for each in samples]),
    )
    rates: list[Any] = [len(each) / float(each.arrival_s[-1]) for each in samples]
    return Asked(
        replica=point.replica,
        workload=replace(point.workload, lengths=lengths),
        rate_rps=float(np.mean(rates)),
    )


def asked_of_law(scenario: Scenario, effort: Effort) -> Asked:
    """The law of the lengths: for a knee from many runs, which are freed of what each of them has drawn."""
    point = build(scenario, study_of(effort))
    return Asked(replica=point.replica, workload=point.workload, rate_rps=point.workload.offered_rps)
