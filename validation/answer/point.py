"""One point of a study: a scenario, checked and built, and one simulated run of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError
from qtheory.system.cluster import ClusterSpec
from qtheory.system.provenance import Provenance
from qtheory.system.replica import ReplicaSpec, replica_of
from qtheory.system.results import RunResult
from qtheory.system.scenario import Scenario
from qtheory.system.workload import DayArrivals, ProfileArrivals, Replay, Workload
from qtheory.system.workload.from_scenario import workload_of
from qtheory.system.workload.request import Requests
from sim.record import Records
from sim.statistics import seeds
from sim.summary import columns

from .patient import check_patience
from .serving import Setting, cluster_of
from .study import Study

__all__ = ["Point", "Replication", "Run", "build", "lengthened", "replicate", "requests_of"]

_STEADY_REQUESTS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A scenario with everything that it names found and checked.

    Parameters
    ----------
    scenario : Scenario
    replica : ReplicaSpec
    workload : Workload
    n_replications : int
        Runs to begin with.
    cluster : ClusterSpec
        Replicas and router.
    is_length_free : bool
        Whether the length of the runs is still to be found: none was given for a steady state.
    """

    scenario: Scenario
    replica: ReplicaSpec
    workload: Workload
    n_replications: int
    cluster: ClusterSpec = field(default_factory=ClusterSpec)
    is_length_free: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replication:
    """One run of a point.

    Parameters
    ----------
    result : RunResult
        Its numbers.
    series : dict
        Columns over its requests that the statistics need.
    stepwise : str or None
        Why the reference engine had to be used, if it was.
    records : Records or None
        If they are wanted.
    """

    result: RunResult
    series: dict[str, NDArray[Any]]
    stepwise: str | None
    records: Records | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """A simulated point: what was served where, and the numbers over all its replications.

    Parameters
    ----------
    scenario : Scenario
    replica : ReplicaSpec
    workload : Workload
    result : RunResult
    values : dict
        For each quantity that is compared its value in each replication, None where there was none.
    records : tuple of Records
        One a replication, if they were kept.
    stepwise : str or None
        Why the reference engine had to be used, if it was.
    """

    scenario: Scenario
    replica: ReplicaSpec
    workload: Workload
    result: RunResult
    values: dict[str, tuple[float | None, ...]]
    records: tuple[Records, ...] = ()
    stepwise: str | None = None


def build(scenario: Scenario, study: Study) -> Point:
    """Find and check everything that a scenario names, before anything is simulated.

    Without a length of the run, one that asks for a steady state has 10,000 requests to begin with.

    Parameters
    ----------
    scenario : Scenario
    study : Study

    Raises
    ------
    ConfigError
        If the scenario names something unknown or impossible, or cannot have the steady state asked for.

    Examples
    --------
    >>> point = build(Scenario(hardware="rtx3050"), Study(steady=True))
    >>> point.scenario.requests, point.n_replications
    (10000, 5)
    """
    n_replications = study.replications_of(scenario.trace)
    is_length_free = study.is_steady and scenario.requests is None and scenario.duration_s is None
    if study.is_steady:
        asked = "steady" if study.steady else "precision"
        if scenario.trace is not None:
            raise ConfigError(f"{asked}: a trace is replayed as recorded and has no steady state")
        if scenario.stop_s is not None:
            raise ConfigError(f"stop_s: {scenario.stop_s:g} given, but a steady state needs whole runs")
        if is_length_free:
            scenario = replace(scenario, requests=_STEADY_REQUESTS)
    workload = workload_of(scenario)
    check_patience(scenario, workload, study)
    if study.is_steady and isinstance(workload.arrivals, DayArrivals | ProfileArrivals):
        raise ConfigError(f"arrivals: {workload.arrivals} has a rate that changes, so no steady state")
    if study.precision is not None:
        n_requests = n_replications * (workload.n_requests or _expected(workload))
        if n_requests > study.max_requests:
            raise ConfigError(
                f"max_requests: {study.max_requests} is less than the {n_requests:,} requests "
                f"of the first {n_replications} replications"
            )
    return Point(
        scenario=scenario,
        replica=replica_of(scenario),
        workload=workload,
        n_replications=n_replications,
        cluster=cluster_of(scenario),
        is_length_free=is_length_free,
    )


def lengthened(point: Point, n_requests: int) -> Point:
    """The point with runs of ``n_requests`` requests, >= 1.

    Parameters
    ----------
    point : Point
    n_requests : int
    """
    scenario = replace(point.scenario, requests=n_requests)
    return replace(point, scenario=scenario, workload=workload_of(scenario))


def _expected(workload: Workload) -> int:
    """Requests of one run in the mean."""
    return math.ceil(workload.offered_rps * (workload.duration_s or 0.0))


def requests_of(workload: Workload, seed: int, index: int = 0) -> Requests:
    """The requests of one replication: the same for every scheduler and, stretched, at every rate.

    Parameters
    ----------
    workload : Workload
    seed : int
        Of the study, >= 0.
    index : int
        Of the replication, >= 0.
    """
    return workload.generate(np.random.default_rng(seeds(seed, index + 1)[index]))


def replicate(point: Point, index: int, study: Study) -> Replication:
    """Simulate one replication of a point.

    Parameters
    ----------
    point : Point
    index : int
        Which replication, >= 0; it gives the random numbers.
    study : Study

    Raises
    ------
    ServingError
        If the scenario cannot be simulated.
    """
    spec, scenario, arrivals = point.replica, point.scenario, point.workload.arrivals
    about: dict[str, Any] = {
        "scheduler": scenario.scheduler,
        "rate_rps": point.workload.offered_rps,
        "budget_tokens": spec.budget_tokens,
        "speed": arrivals.speed if isinstance(arrivals, Replay) else None,
        "provenance": Provenance(scenario=scenario.changed(), seed=scenario.seed),
    }
    setting = Setting(
        scenario,
        spec,
        workload=point.workload,
        cluster=point.cluster,
        requests=requests_of(point.workload, scenario.seed, index),
    )
    if study.lean:
        return Replication(result=setting.lean(about, index=index), series={}, stepwise=None, records=None)
    served = setting.serve(about, n_windows=study.n_windows if index == 0 else 0, index=index)
    return Replication(
        result=served.result,
        series=_series(served.records, point, study),
        stepwise=served.stepwise,
        records=served.records if study.keep_records else None,
    )


def _series(records: Records, point: Point, study: Study) -> dict[str, NDArray[Any]]:
    """What the statistics need of the single requests, and not more: it travels between processes."""
    table = columns(records, point.workload.slo)
    if not study.is_steady:
        return {"good": table["good"], "ttft_s": table["ttft_s"]}
    if records.requests.after is not None:  # a turn arrives when it is sent
        order = np.argsort(records.sent_s, kind="stable")
        table = {name: column[order] for name, column in table.items()} | {"arrival_s": records.sent_s[order]}
    left = np.sort(records.finish_s[~np.isnan(records.finish_s)])
    arrival_s = table["arrival_s"]
    in_system = np.arange(len(arrival_s)) - np.searchsorted(left, arrival_s, side="right")
    names = ("arrival_s", "sent_s", "ttft_s", "tpot_s", "e2e_s", "queue_s", "good")
    served = ~np.isnan(table["e2e_s"])
    more = {"in_system": in_system, "served": served, "tokens": np.where(served, table["output_tokens"], 0)}
    return {name: table[name] for name in names} | more
