"""What a fleet has to carry: one rate, or hours of a day or a trace; and what of it comes to a replica."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.workload import (
    Arrivals,
    ClosedLoop,
    ConstantArrivals,
    DayArrivals,
    GammaArrivals,
    OpenArrivals,
    PoissonArrivals,
    ProfileArrivals,
    Workload,
)

__all__ = ["Load", "Stage", "load_of", "share_of"]

Floats = NDArray[np.float64]

_HOUR_S = 3600.0
_WINDOWS = 24
_SHORT_S = 300.0  # in which the rate of a trace is taken as steady
_IN_BIN, _LEAST_BINS = 20, 4
_NEAR_POISSON = 0.1
_MOST_STAGES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A stretch of time with its load.

    Parameters
    ----------
    start_s, length_s : float
        Seconds.
    mean_rps, peak_rps : float
        Requests per second: in the mean, and at the busiest moment; fleets are sized for the second.

    Examples
    --------
    >>> Stage(start_s=0.0, length_s=3600.0, mean_rps=3.0, peak_rps=4.0).peak_rps
    4.0
    """

    start_s: float
    length_s: float
    mean_rps: float
    peak_rps: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The demand on a fleet, in a form that has a rate.

    Parameters
    ----------
    workload : Workload
        Of the whole fleet at its busiest, with steady arrivals.
    stages : tuple of Stage
        One, or the hours of a day.
    note : str
        What was made of the arrivals; empty if they are as given.

    Examples
    --------
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload import workload_of
    >>> day = load_of(workload_of(Scenario(arrivals="day(peak_to_mean=1.5)", rate_rps=4.0)))
    >>> len(day.stages), round(day.peak_rps, 3), round(day.mean_rps, 3)
    (24, 6.0, 4.0)
    """

    workload: Workload
    stages: tuple[Stage, ...]
    note: str = ""

    @property
    def peak_rps(self) -> float:
        """Rate at the busiest moment."""
        return max(stage.peak_rps for stage in self.stages)

    @property
    def mean_rps(self) -> float:
        """Rate over all stages."""
        weights = [stage.length_s for stage in self.stages]
        return float(np.average([stage.mean_rps for stage in self.stages], weights=weights))

    @property
    def is_day(self) -> bool:
        """Whether the load changes."""
        return len(self.stages) > 1


def load_of(workload: Workload, *, window_s: float | None = None) -> Load:
    """The load that a workload is for a fleet.

    Arrivals at a steady rate stay as they are. A day or a profile becomes windows, each with its highest
    rate. A trace becomes windows with their highest rates over some five minutes; what its arrivals vary
    within those beyond chance makes them bursty.

    Parameters
    ----------
    workload : Workload
    window_s : float, optional
        Length of a window, seconds, > 0 (default: an hour; where all lasts less than two hours a 24th of it,
        or of a trace five minutes).

    Raises
    ------
    ConfigError
        If the arrivals have no rate, or there would be too many windows.

    Examples
    --------
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload import workload_of
    >>> load_of(workload_of(Scenario(rate_rps=4.0))).stages
    (Stage(start_s=0.0, length_s=3600.0, mean_rps=4.0, peak_rps=4.0),)
    """
    if window_s is not None:
        checks.positive(window_s=window_s)
    arrivals = workload.arrivals
    if isinstance(arrivals, ClosedLoop) or math.isinf(workload.offered_rps):
        raise ConfigError(f"arrivals: {workload.why_no_rate}; a plan needs one, or a trace or a day")
    if workload.trace is not None:
        return _of_trace(workload, window_s)
    if isinstance(arrivals, DayArrivals | ProfileArrivals):
        stages = _of_changing(workload, arrivals, window_s)
        note = f"{arrivals}: each window at its highest rate, as if that lasted"
        return Load(workload=_steady(workload, _renewal(arrivals.cv**2), stages), stages=stages, note=note)
    rate = workload.offered_rps
    stage = Stage(start_s=0.0, length_s=_HOUR_S, mean_rps=rate, peak_rps=rate)
    return Load(workload=_plain(workload), stages=(stage,))


def _plain(workload: Workload) -> Workload:
    return replace(workload, duration_s=None, n_requests=None)


def _renewal(dispersion: float) -> OpenArrivals:
    return PoissonArrivals() if dispersion == 1 else GammaArrivals(cv=math.sqrt(dispersion))


def _steady(workload: Workload, arrivals: Arrivals, stages: tuple[Stage, ...]) -> Workload:
    peak = max(stage.peak_rps for stage in stages)
    return replace(_plain(workload), arrivals=arrivals, rate_rps=peak, trace=None)


def _edges(total_s: float, window_s: float | None, *, least: int) -> Floats:
    usual = _HOUR_S if total_s >= 2 * _HOUR_S else total_s / least
    n = max(1, round(total_s / (window_s or usual)))
    if n > _MOST_STAGES:
        raise ConfigError(f"window_s: {window_s or usual:g} makes {n:,} windows; at most {_MOST_STAGES:,}")
    return np.linspace(0.0, total_s, n + 1, dtype=np.float64)


def _of_changing(
    workload: Workload, arrivals: DayArrivals | ProfileArrivals, window_s: float | None
) -> tuple[Stage, ...]:
    total_s = arrivals.period_s if isinstance(arrivals, DayArrivals) else sum(arrivals.lengths_s)
    edges = _edges(total_s, window_s, least=_WINDOWS)
    stages = []
    for start, end in pairwise(edges):
        mean, peak = _relative(arrivals, float(start), float(end))
        rate = workload.offered_rps
        stages.append(
            Stage(
                start_s=float(start), length_s=float(end - start), mean_rps=rate * mean, peak_rps=rate * peak
            )
        )
    return tuple(stages)


def _relative(arrivals: DayArrivals | ProfileArrivals, start_s: float, end_s: float) -> tuple[float, float]:
    """Mean and highest rate between two times, as shares of the mean of all."""
    if isinstance(arrivals, DayArrivals):
        swing, turn = arrivals.peak_to_mean - 1, 2 * math.pi / arrivals.period_s
        a, b = start_s * turn, end_s * turn
        mean = 1 + swing * (math.cos(a) - math.cos(b)) / (b - a)
        inside = a <= math.pi / 2 <= b
        return mean, 1 + swing * (1.0 if inside else max(math.sin(a), math.sin(b)))
    edges = np.concatenate([[0.0], np.cumsum(arrivals.lengths_s)])
    overlap = np.maximum(np.minimum(edges[1:], end_s) - np.maximum(edges[:-1], start_s), 0.0)
    rates = np.array(arrivals.rates) / arrivals.own_rate_rps
    return float(overlap @ rates / overlap.sum()), float(rates[overlap > 1e-9 * overlap.sum()].max())


def _of_trace(workload: Workload, window_s: float | None) -> Load:
    arrival_s = workload.generate(np.random.default_rng(0)).arrival_s  # of a trace, nothing is drawn
    arrival_s = arrival_s - arrival_s[0]
    total_s = float(arrival_s[-1])
    edges = _edges(total_s, window_s, least=max(1, round(total_s / _SHORT_S)))
    stages = []
    for start, end in pairwise(edges.tolist()):
        inside = arrival_s[(arrival_s >= start) & (arrival_s <= end)]
        parts = np.linspace(start, end, max(1, round((end - start) / _SHORT_S)) + 1)
        highest = float((np.histogram(inside, parts)[0] / np.diff(parts)).max())
        mean = len(inside) / (end - start)
        stages.append(Stage(start_s=start, length_s=end - start, mean_rps=mean, peak_rps=highest))
    dispersion = _dispersion(arrival_s, total_s)
    said = "Poisson" if dispersion == 1 else f"gamma(cv={math.sqrt(dispersion):.3g})"
    note = f"the trace at its highest rate over some {_SHORT_S:g} s, arrivals within that taken as {said}"
    found = tuple(stages)
    return Load(workload=_steady(workload, _renewal(dispersion), found), stages=found, note=note)


def _dispersion(arrival_s: Floats, total_s: float) -> float:
    """Index of dispersion of the arrivals within short windows; 1 where it is not told apart from that.

    Counted in bins of 20 arrivals in the mean: what a replica feels. Slower changes are changes of the rate.
    """
    total, weight = 0.0, 0.0
    for start, end in pairwise(np.linspace(0.0, total_s, max(1, round(total_s / _SHORT_S)) + 1).tolist()):
        inside = arrival_s[(arrival_s >= start) & (arrival_s < end)]
        n_bins = int(len(inside) / _IN_BIN)
        if n_bins >= _LEAST_BINS:
            counts = np.histogram(inside, np.linspace(start, end, n_bins + 1))[0]
            total += float(counts.var(ddof=1) / counts.mean()) * (n_bins - 1)
            weight += n_bins - 1
    if not weight:
        return 1.0
    found = max(total / weight, 0.01)
    return 1.0 if abs(found - 1) < max(_NEAR_POISSON, 2 * math.sqrt(2 / weight)) else round(found, 3)


def share_of(workload: Workload, n_replicas: int) -> Workload:
    r"""What comes to one of several replicas if requests are dealt out at random.

    Poisson arrivals stay Poisson. Of others with index of dispersion :math:`I`, one in n has
    :math:`1+(I-1)/n` [1]_, which gamma gaps are given; arrivals whose rate changes stay as they are, since
    all replicas feel that. Routers that look, or take turns, make the arrivals smoother than that.

    Parameters
    ----------
    workload : Workload
        Of the fleet.
    n_replicas : int
        At least 1.

    Raises
    ------
    ConfigError
        If the number is below 1.

    References
    ----------
    .. [1] Cox, Lewis (1966), "The statistical analysis of series of events", Methuen, chapter 4 (variance of
       the counts of a thinned process).

    Examples
    --------
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload import workload_of
    >>> bursty = workload_of(Scenario(arrivals="gamma(cv=3)"))
    >>> str(share_of(bursty, 4).arrivals)
    'gamma(cv=1.7320508075688772)'
    """
    checks.integer(n_replicas=n_replicas)
    arrivals = workload.arrivals
    if n_replicas == 1 or not isinstance(arrivals, GammaArrivals | ConstantArrivals):
        return workload
    cv = math.sqrt(1 + (arrivals.scv - 1) / n_replicas)
    return replace(workload, arrivals=GammaArrivals(cv=cv))
