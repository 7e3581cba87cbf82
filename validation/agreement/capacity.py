"""What a scheduler can take, measured in the simulator: throughput with a queue that never empties."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

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

__all__ = ["Overload", "overload_rps"]

_AS_CHUNKED = ("slo", "sjf")  # an overload of these sheds, or changes the mix of lengths, without end
_FROM_FRAC = 0.35  # share of the requests that have been admitted when counting starts


@dataclass(frozen=True, slots=True, kw_only=True)
class Overload:
    """Throughput in overload, requests per second, and its standard error.

    Parameters
    ----------
    rate_rps, error_rps : float
    """

    rate_rps: float
    error_rps: float


def overload_rps(scenario: Scenario, *, n_requests: int = 60_000, seed: int = 1) -> Overload:
    """Requests served a second while the queue never empties: what loads are shares of.

    All requests are there at once. Counted are admissions and ends, averaged, from the moment at which 35 %
    of the requests are admitted (so the batch is full and mixed) until the last one is. ``slo`` and ``sjf``
    are given the throughput of ``chunked``: they fill steps in the same way, and an endless overload of their
    own has no steady state. Nothing here comes from the theory that is compared at these loads.

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
    admitted = np.sort(records.first_scheduled_s)
    start_s, end_s = float(admitted[int(_FROM_FRAC * n_requests)]), float(admitted[-1])
    counts = []
    for low_s, high_s in _windows(start_s, end_s):
        finished = float(np.sum((records.finish_s > low_s) & (records.finish_s <= high_s)))
        begun = float(np.sum((admitted > low_s) & (admitted <= high_s)))
        counts.append(0.5 * (finished + begun) / (high_s - low_s))
    rates = np.array(counts)
    return Overload(rate_rps=float(rates.mean()), error_rps=float(rates.std(ddof=1) / np.sqrt(len(rates))))


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


def _windows(start_s: float, end_s: float, n: int = 10) -> list[tuple[float, float]]:
    return list(pairwise(np.linspace(start_s, end_s, n + 1).tolist()))
