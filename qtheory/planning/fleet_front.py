"""Cost against latency: the fleets that no other beats in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qtheory.basics import checks
from qtheory.basics.errors import ServingError

from .fleet_curve import LATENCIES
from .fleet_plan import FleetPlan, Option

__all__ = ["FrontPoint", "front_of", "points_of"]

_FAR = 4.0  # times the cheapest: dearer ones are on no front
_MORE = (1.0, 1.25, 1.5, 2.0)  # times the replicas that are needed


@dataclass(frozen=True, kw_only=True)
class FrontPoint:
    """A fleet as a point in a plane.

    Parameters
    ----------
    option : Option
    n_replicas : int
        At least as many as are needed.
    usd_per_hour : float
    latency_s : float

    Examples
    --------
    >>> from qtheory.planning.fleet_plan import Option
    >>> FrontPoint.__dataclass_params__.frozen
    True
    """

    option: Option
    n_replicas: int
    usd_per_hour: float
    latency_s: float


def points_of(plan: FleetPlan, latency: str) -> list[FrontPoint]:
    """Every fleet that does, and with up to twice as many replicas, at the busiest moment.

    Parameters
    ----------
    plan : FleetPlan
    latency : str
        One of `LATENCIES`.

    Raises
    ------
    ConfigError
        If the latency is none of these.

    Examples
    --------
    >>> from qtheory.planning.fleet_load import load_of
    >>> from qtheory.planning.fleet_size import Need
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload import workload_of
    >>> load = load_of(workload_of(Scenario(rate_rps=4.0)))
    >>> points_of(FleetPlan(load=load, need=Need(rate_rps=4.0), options=()), "p90_ttft_s")
    []
    """
    checks.one_of("latency", latency, LATENCIES)
    found = []
    for option in plan.options:
        if option.fleet is None:
            continue
        fleet = option.fleet
        for n in sorted({round(factor * fleet.n_replicas) for factor in _MORE} | {fleet.n_replicas + 1}):
            seconds = _latency(option, plan.need.rate_rps, n, latency)
            if seconds is not None:
                cost = n * option.candidate.usd_per_hour
                found.append(FrontPoint(option=option, n_replicas=n, usd_per_hour=cost, latency_s=seconds))
    return found


def _latency(option: Option, rate_rps: float, n: int, name: str) -> float | None:
    """At the size that is needed by the better tier; beyond it by the closed forms, if there are any."""
    if option.fleet is None:
        return None
    if n == option.fleet.n_replicas:
        value = option.fleet.point.get(name)
    else:
        closed = option.closed or option.fleet
        try:
            value = closed.curve.at(rate_rps / n).get(name)
        except ServingError:
            return None
    return None if value is None else float(value)


def front_of(points: Sequence[FrontPoint]) -> list[FrontPoint]:
    """The points that no other is cheaper than and at least as fast, up to four times the cheapest.

    Parameters
    ----------
    points : sequence of FrontPoint

    Examples
    --------
    >>> front_of([])
    []
    """
    front: list[FrontPoint] = []
    most = _FAR * min((point.usd_per_hour for point in points), default=0.0)
    near = [point for point in points if point.usd_per_hour <= most]
    for point in sorted(near, key=lambda one: (round(one.usd_per_hour, 9), one.latency_s)):
        if not front or point.latency_s < 0.999 * front[-1].latency_s:
            front.append(point)
    return front
