"""What a scheduler can take, measured in the simulator: throughput with a queue that never empties."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from qtheory.system.replica import ReplicaSpec, replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload.from_scenario import workload_of
from qtheory.system.workload.request import Requests
from sim.cluster import simulate_pools
from sim.engine import simulate
from sim.policies import make_policy
from sim.record import Records
from sim.replica import Replica
from validation.answer.apart import is_apart, pool_cluster_of, pools_of

from ._controlled import CONTROLS, controlled, controls_of

__all__ = ["Overload", "overload_rps"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_AS_CHUNKED = ("slo", "sjf")  # an overload of these sheds, or changes the mix of lengths, without end
_FROM_FRAC = 0.35  # share of the requests that have been admitted when counting starts
_WINDOWS, _SHORT_WINDOWS = 10, 40  # the second for the limit: more than controls, longer than a stay


@dataclass(frozen=True, slots=True, kw_only=True)
class Overload:
    """Throughput in overload, requests per second, and its standard error.

    Parameters
    ----------
    rate_rps, error_rps : float
        Of the requests that were drawn: what loads are shares of.
    limit_rps, limit_error_rps : float
        Of the law of the lengths: freed of what the sample has done, so several times as sharp.
    """

    rate_rps: float
    error_rps: float
    limit_rps: float
    limit_error_rps: float


def overload_rps(scenario: Scenario, *, n_requests: int = 60_000, seed: int = 1) -> Overload:
    """Requests served a second while the queue never empties: what loads are shares of.

    All requests are there at once. Counted are admissions and ends, averaged, from the moment at which 35 %
    of the requests are admitted (so the batch is full and mixed) until the last one is. ``slo`` and ``sjf``
    are given the throughput of ``chunked``: they fill steps in the same way, and an endless overload of their
    own has no steady state. Nothing here comes from the theory that is compared at these loads.

    The limit is the same count with mean lengths and their products as control variates, whose expectation
    is known from the law (regression over windows of time; Glasserman (2003), "Monte Carlo Methods in
    Financial Engineering", section 4.1).

    Parameters
    ----------
    scenario : Scenario
        Its rate and arrivals do not matter.
    n_requests : int
        More give a smaller error.
    seed : int

    Raises
    ------
    ConfigError
        If the scenario names something unknown or impossible.
    """
    if scenario.scheduler in _AS_CHUNKED:
        scenario = replace(scenario, scheduler="chunked")
    rng = np.random.default_rng(seed)
    lengths = workload_of(replace(scenario, requests=1, duration_s=None)).lengths
    prompts, outputs = lengths.sample(rng, n_requests)
    requests = Requests(arrival_s=np.zeros(n_requests), prompt_tokens=prompts, output_tokens=outputs)
    records = _served(scenario, replica_of(scenario), requests)
    begun_s, ended_s = records.first_scheduled_s, records.finish_s
    admitted_s = np.sort(begun_s)
    start_s, end_s = float(admitted_s[int(_FROM_FRAC * n_requests)]), float(admitted_s[-1])
    rates, _ = _counted(begun_s, ended_s, np.linspace(start_s, end_s, _WINDOWS + 1))
    short, members = _counted(begun_s, ended_s, np.linspace(start_s, end_s, _SHORT_WINDOWS + 1))
    controls = controls_of(prompts, outputs) / [lengths.moment(*powers) for powers in CONTROLS]
    shares = [
        (controls[begun].sum(0) + controls[ended].sum(0)) / (begun.sum() + ended.sum())
        for begun, ended in members
    ]
    limit_rps, limit_error_rps = controlled(short, np.array(shares) - 1)
    return Overload(
        rate_rps=float(rates.mean()),
        error_rps=float(rates.std(ddof=1) / np.sqrt(len(rates))),
        limit_rps=limit_rps,
        limit_error_rps=limit_error_rps,
    )


def _counted(begun_s: Floats, ended_s: Floats, edges_s: Floats) -> tuple[Floats, list[tuple[Flags, Flags]]]:
    """Requests a second in each window, begun and ended ones averaged; and which of them these are."""
    members = [
        ((begun_s > low_s) & (begun_s <= high_s), (ended_s > low_s) & (ended_s <= high_s))
        for low_s, high_s in pairwise(edges_s.tolist())
    ]
    counts = np.array([0.5 * float(begun.sum() + ended.sum()) for begun, ended in members])
    return counts / np.diff(edges_s), members


def _served(scenario: Scenario, spec: ReplicaSpec, requests: Requests) -> Records:
    policy = make_policy(spec.scheduler)
    replica = Replica(
        step_time=spec.step_time,
        n_blocks=spec.n_blocks,
        block_tokens=spec.block_tokens,
        max_model_len_tokens=spec.max_model_len_tokens,
    )
    if is_apart(scenario):
        pools = pools_of(scenario, spec, policy, replica, pool_cluster_of(scenario))
        return simulate_pools(requests, pools).records
    return simulate(requests, policy, replica)
