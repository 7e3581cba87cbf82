"""What a plan says: a fleet for each candidate or why there is none, hour by hour, with its cost."""

from __future__ import annotations

from dataclasses import dataclass

from .fleet_candidates import Candidate
from .fleet_load import Load, Stage
from .fleet_size import Fleet, Need, replicas_for

__all__ = ["FleetPlan", "Hour", "Option", "hours_of"]

_HOUR_S = 3600.0


@dataclass(frozen=True, kw_only=True)
class Option:
    """A candidate with its fleet, or with the reason why it has none.

    Parameters
    ----------
    candidate : Candidate
    fleet : Fleet or None
    closed : Fleet or None
        The fleet by closed forms, where there is one.
    reason : str
        Why there is no fleet.
    is_refused : bool
        Whether that is because nothing is known: the model ends, or there is none.
    usd_per_hour : float or None
        Of the whole fleet, in the mean over the stages of the load.

    Examples
    --------
    >>> from qtheory.planning.prices import Price
    >>> from qtheory.system.hardware import find_hardware
    >>> from qtheory.system.scenario import Scenario
    >>> price = Price(hardware="l4", usd_per_hour=1.0)
    >>> lost = Candidate(scenario=Scenario(), hardware=find_hardware("l4"), price=price, replica=None)
    >>> Option(candidate=lost, fleet=None, closed=None, reason="does not fit").is_answered
    False
    """

    candidate: Candidate
    fleet: Fleet | None
    closed: Fleet | None = None
    reason: str = ""
    is_refused: bool = False
    usd_per_hour: float | None = None

    @property
    def is_answered(self) -> bool:
        """Whether there is a fleet."""
        return self.fleet is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hour:
    """What a stage of the load needs.

    Parameters
    ----------
    stage : Stage
    n_replicas : int
    usd : float
        Cost of the stage.

    Examples
    --------
    >>> stage = Stage(start_s=0.0, length_s=3600.0, mean_rps=1.0, peak_rps=2.0)
    >>> Hour(stage=stage, n_replicas=2, usd=6.0).n_replicas
    2
    """

    stage: Stage
    n_replicas: int
    usd: float


@dataclass(frozen=True, kw_only=True)
class FleetPlan:
    """All candidates, cheapest fleet first, then those without one.

    Parameters
    ----------
    load : Load
    need : Need
    options : tuple of Option

    Examples
    --------
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload import workload_of
    >>> from qtheory.planning.fleet_load import load_of
    >>> load = load_of(workload_of(Scenario(rate_rps=4.0)))
    >>> FleetPlan(load=load, need=Need(rate_rps=4.0), options=()).best is None
    True
    """

    load: Load
    need: Need
    options: tuple[Option, ...]

    @property
    def best(self) -> Option | None:
        """The cheapest; None if no candidate does."""
        return next((option for option in self.options if option.is_answered), None)

    def usd_per_million(self, option: Option) -> float | None:
        """Dollars for a million output tokens of good requests, in the mean over the load."""
        if option.fleet is None or option.usd_per_hour is None:
            return None
        good = float(option.fleet.point["goodput_frac"])
        tokens = self.load.mean_rps * good * self.load.workload.lengths.mean_output_tokens * _HOUR_S
        return 1e6 * option.usd_per_hour / tokens

    def power_w(self, option: Option) -> float | None:
        """Power limit of all accelerators of a fleet, W; None if it is not known."""
        each = option.candidate.tdp_w
        return None if each is None or option.fleet is None else each * option.fleet.n_replicas


def hours_of(candidate: Candidate, fleet: Fleet, load: Load, need: Need) -> tuple[Hour, ...]:
    """Replicas and cost of each stage, if the fleet follows the load.

    Parameters
    ----------
    candidate : Candidate
    fleet : Fleet
        For the busiest moment.
    load : Load
    need : Need

    Examples
    --------
    >>> from qtheory.planning.prices import Price
    >>> from qtheory.system.hardware import find_hardware
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload import workload_of
    >>> from qtheory.planning.fleet_load import load_of
    >>> price = Price(hardware="l4", usd_per_hour=1.0)
    >>> one = Candidate(scenario=Scenario(), hardware=find_hardware("l4"), price=price, replica=None)
    >>> from qtheory.planning.fleet_curve import Curve
    >>> from qtheory.planning.fleet_doubt import Doubt
    >>> curve = Curve(answered_by="simulation", knee_rps=1.0, at=lambda rate: {})
    >>> fleet = Fleet(n_replicas=6, n_needed=6, curve=curve, doubt=Doubt(), point={})
    >>> load = load_of(workload_of(Scenario(arrivals="day(peak_to_mean=1.5)", rate_rps=4.0)))
    >>> [hour.n_replicas for hour in hours_of(one, fleet, load, Need(rate_rps=6.0))][:8]
    [5, 5, 6, 6, 6, 6, 6, 6]
    """
    found = []
    for stage in load.stages:
        n = fleet.n_replicas
        if stage.peak_rps < load.peak_rps:
            rate = max(stage.peak_rps, 1e-9 * load.peak_rps) * (1 + need.headroom_frac)
            n = min(n, replicas_for(rate, fleet.knee_rps, fleet.doubt, need.miss_prob) + need.spare)
        usd = n * candidate.usd_per_hour * stage.length_s / _HOUR_S
        found.append(Hour(stage=stage, n_replicas=n, usd=usd))
    return tuple(found)
