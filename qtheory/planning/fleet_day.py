"""A changing load on fleets that stay as they are: which stages miss, and what one leaves to the next."""

from __future__ import annotations

from dataclasses import dataclass, replace

from qtheory.basics.errors import UnstableError
from qtheory.predict import OverTime, sweep_over_time
from qtheory.system.replica import ReplicaSpec
from qtheory.system.workload import GammaArrivals, ProfileArrivals, Workload

from .fleet_load import Load

__all__ = ["FixedFleet", "StageMet", "fixed_fleets"]

_FEWER = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class StageMet:
    """A stage of the load with a fixed fleet.

    Parameters
    ----------
    start_s : float
        Seconds.
    goodput_frac : float
        Share of its requests that are good.
    end_waiting : float
        Requests without a first token at its end, of the whole fleet, in the mean.

    Examples
    --------
    >>> StageMet(start_s=0.0, goodput_frac=0.5, end_waiting=90.0).end_waiting
    90.0
    """

    start_s: float
    goodput_frac: float
    end_waiting: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedFleet:
    """So many replicas through all of the load.

    Parameters
    ----------
    n_replicas : int
        Replicas that serve from the first stage to the last, >= 1.
    goodput_frac : float
        Share of all requests that are good, 0 to 1.
    n_missed : int
        Stages in which fewer are good than asked for.
    peak_waiting : float
        Most requests without a first token, of the whole fleet, in the mean.
    overloaded_s : float
        Seconds for which more comes than is served.
    late_s : float or None
        Seconds for which, after these, what has gathered is not gone; None if it is not gone in the end.
    stages : tuple of StageMet

    Examples
    --------
    >>> names = ("goodput_frac", "peak_waiting", "overloaded_s", "late_s")
    >>> FixedFleet(n_replicas=2, n_missed=1, stages=(), **dict.fromkeys(names, 0.5)).n_missed
    1
    """

    n_replicas: int
    goodput_frac: float
    n_missed: int
    peak_waiting: float
    overloaded_s: float
    late_s: float | None
    stages: tuple[StageMet, ...]


def fixed_fleets(
    replica: ReplicaSpec, load: Load, n_replicas: int, *, goodput_frac: float
) -> tuple[FixedFleet, ...]:
    """Approximation, by closed forms: a fleet for the busiest moment through all of the load, and fewer.

    Each stage counts with its mean rate; the first one begins empty, and what one leaves is there in the
    next. Fleets of up to three replicas fewer follow where there is a model of what they meet.

    Parameters
    ----------
    replica : ReplicaSpec
        One of the fleet.
    load : Load
        With several stages.
    n_replicas : int
        Of the fleet, >= 1.
    goodput_frac : float
        Share that is asked for in each stage.

    Raises
    ------
    ServingError
        If there is no model of the replica or the load.

    Examples
    --------
    >>> from qtheory.planning.fleet_load import load_of
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload import workload_of
    >>> scenario = Scenario(
    ...     hardware="a100", model="llama-3.1-8b", arrivals="day(peak_to_mean=1.6)", rate_rps=15.0)
    >>> load = load_of(workload_of(scenario))
    >>> fleets = fixed_fleets(replica_of(scenario), load, 3, goodput_frac=0.9)
    >>> [(fleet.n_replicas, fleet.n_missed) for fleet in fleets]
    [(3, 0), (2, 16), (1, 24)]
    """
    numbers = list(range(n_replicas, max(n_replicas - 1 - _FEWER, 0), -1))
    rates = [load.mean_rps / n for n in numbers]
    workload, n_stages = _changing(load), len(load.stages)
    seconds = sum(stage.length_s for stage in load.stages)
    try:
        seen = sweep_over_time(replica, workload, rates, duration_s=seconds, n_stretches=n_stages)
    except UnstableError:  # of a fleet above the limit of a scheduler with no model of that
        numbers = numbers[:1]
        seen = sweep_over_time(replica, workload, rates[:1], duration_s=seconds, n_stretches=n_stages)
    return tuple(_fleet(one, n, goodput_frac) for one, n in zip(seen, numbers, strict=True))


def _changing(load: Load) -> Workload:
    """The load of a fleet with the rates of its stages."""
    kind = load.workload.arrivals
    arrivals = ProfileArrivals(
        rates=tuple(stage.mean_rps for stage in load.stages),
        lengths_s=tuple(stage.length_s for stage in load.stages),
        cv=kind.cv if isinstance(kind, GammaArrivals) else 1.0,
    )
    return replace(load.workload, arrivals=arrivals, rate_rps=load.mean_rps)


def _fleet(seen: OverTime, n: int, goodput_frac: float) -> FixedFleet:
    stages = tuple(
        StageMet(start_s=one.start_s, goodput_frac=one.goodput_frac, end_waiting=n * one.end_waiting)
        for one in seen.stretches
    )
    overloads = seen.overloads
    cleared = [one.cleared_s for one in overloads]
    is_gone = None not in cleared
    return FixedFleet(
        n_replicas=n,
        goodput_frac=seen.goodput_frac,
        n_missed=sum(one.goodput_frac < goodput_frac for one in stages),
        peak_waiting=n * seen.peak_waiting,
        overloaded_s=sum(one.end_s - one.start_s for one in overloads),
        late_s=sum((one.cleared_s or 0.0) - one.end_s for one in overloads) if is_gone else None,
        stages=stages,
    )
