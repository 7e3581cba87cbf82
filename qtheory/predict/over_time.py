"""What a scheduler does while the rate changes: over a day, through an overload, and after it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.ranges import at_most
from qtheory.system.replica import ReplicaSpec
from qtheory.system.workload import OpenArrivals, Workload

from . import _models
from ._course import Course
from ._ranks import LEVELS, Ranks
from ._rates import Rates, steady_kind
from ._standing import Standing
from .predict import LEAST_OVERLOAD, TIERS
from .stretches import MOST_STRETCHES, USUAL_STRETCHES, OverTime

__all__ = ["predict_over_time", "sweep_over_time"]

Floats = NDArray[np.float64]

_LEAST_CELLS, _CELLS_OF_A_PERIOD = 240, 24
MOST_PERIODS = 31
"""How often all may begin anew in the time that is asked for: a month of days."""

_MIDDLE = np.array([0.5])
FLUID, STEADY = "fluid + diffusion, between steady states", "steady states one after the other"


def predict_over_time(
    replica: ReplicaSpec,
    workload: Workload,
    *,
    scheduler: str | None = None,
    tier: str = "numeric",
    duration_s: float | None = None,
    n_stretches: int = USUAL_STRETCHES,
    repeats: bool = False,
) -> OverTime:
    r"""Approximation: latency, goodput and backlog at each time of a day, a profile or an overload.

    The number in system is a diffusion whose rate follows the clock; at each time and rank it is read as the
    steady state, by `predict`, in which that number has that rank. Where rates change slowly these are the
    steady states one after the other; above the limit they are the fluid backlog with its spread.

    Parameters
    ----------
    replica : ReplicaSpec
    workload : Workload
        With arrivals ``day`` or ``profile``, or others at their mean rate.
    scheduler : str, optional
        As in `predict`. Those in `OVERLOAD_SCHEDULERS` may be overloaded; the others are answered by their
        steady states alone.
    tier : str
        Of the steady states, one of `TIERS`.
    duration_s : float, optional
        For which requests come, > 0, and at most 31 of the days or profiles (default: until the number of the
        workload has come in the mean; without one, a day or profile; else that of the workload).
    n_stretches : int
        Parts that are told apart, 1 .. `MOST_STRETCHES`.
    repeats : bool
        Whether the time before was the same; else the system is empty at the start.

    Raises
    ------
    ConfigError
        If there is no model, a number is out of range, or no length of time is known.
    ConvergenceError
        If there is no steady state to go by.
    UnstableError
        If the load goes above the limit and there is no model of that.

    Examples
    --------
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload.from_scenario import workload_of
    >>> scenario = Scenario(
    ...     hardware="a100", model="llama-3.1-8b", arrivals="day(peak_to_mean=1.6)", rate_rps=6.5)
    >>> found = predict_over_time(replica_of(scenario), workload_of(scenario), tier="closed")
    >>> [overload] = found.overloads
    >>> print(f"{found.goodput_frac:.2f} good, up to {overload.peak_waiting:.3g} wait")
    0.40 good, up to 2.21e+04 wait
    """
    found = sweep_over_time(
        replica,
        workload,
        [workload.offered_rps],
        scheduler=scheduler,
        tier=tier,
        duration_s=duration_s,
        n_stretches=n_stretches,
        repeats=repeats,
    )
    return found[0]


def sweep_over_time(
    replica: ReplicaSpec,
    workload: Workload,
    rates_rps: Sequence[float],
    *,
    scheduler: str | None = None,
    tier: str = "closed",
    duration_s: float | None = None,
    n_stretches: int = USUAL_STRETCHES,
    repeats: bool = False,
) -> list[OverTime]:
    """`predict_over_time` at several mean rates; the steady states are computed once.

    Parameters
    ----------
    replica : ReplicaSpec
    workload : Workload
    rates_rps : sequence of float
        Mean requests per second, > 0.
    scheduler, tier : str
    duration_s : float, optional
    n_stretches : int
    repeats : bool
        All as in `predict_over_time`.

    Raises
    ------
    ConfigError, ConvergenceError, UnstableError
        As in `predict_over_time`.

    Examples
    --------
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload.from_scenario import workload_of
    >>> scenario = Scenario(hardware="a100", model="llama-3.1-8b", arrivals="day(peak_to_mean=1.6)")
    >>> days = sweep_over_time(replica_of(scenario), workload_of(scenario), [5.0, 6.0, 7.0])
    >>> [f"{day.goodput_frac:.2f}" for day in days]
    ['1.00', '0.57', '0.30']
    """
    checks.one_of("tier", tier, TIERS)
    checks.at_least(1, n_stretches=n_stretches)
    at_most(MOST_STRETCHES, n_stretches=n_stretches)
    checks.positive(**{f"rates_rps[{place}]": rate for place, rate in enumerate(rates_rps)})
    arrivals = workload.arrivals
    if not isinstance(arrivals, OpenArrivals):
        raise ConfigError(f"arrivals: {arrivals} have no rate; over time a prediction needs one")
    steady = replace(workload, arrivals=steady_kind(arrivals))
    standing = Standing(replica=replica, workload=steady, scheduler=scheduler, tier=tier)
    found = []
    for rate in rates_rps:
        rates = Rates(arrivals=arrivals, mean_rps=rate)
        asked = _Asked(standing=standing, rates=rates, duration_s=seconds_of(rates, workload, duration_s))
        found.append(asked.answer(n_stretches, repeats=repeats))
    return found


def seconds_of(rates: Rates, workload: Workload, duration_s: float | None) -> float:
    """How long requests come."""
    seconds, name = duration_s, "duration_s"
    if seconds is None and workload.n_requests is not None:
        seconds, name = rates.time_s(workload.n_requests), "n_requests"
    if seconds is None:
        seconds = workload.duration_s if rates.period_s is None else rates.period_s
    if seconds is None:
        raise ConfigError("duration_s: give a length of time; the arrivals have none of their own")
    checks.positive(duration_s=seconds)
    if seconds > MOST_PERIODS * (rates.period_s or math.inf) * (1 + 1e-9):
        raise ConfigError(
            f"{name}: {seconds:.4g} s are {seconds / (rates.period_s or 1.0):,.0f} times the "
            f"{rates.period_s:g} s after which the rate begins anew; over time at most {MOST_PERIODS} are "
            "predicted, give less"
        )
    return float(seconds)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Asked:
    """One question."""

    standing: Standing
    rates: Rates
    duration_s: float

    def answer(self, n_stretches: int, *, repeats: bool) -> OverTime:
        """All that is said of it."""
        periods = self.duration_s / (self.rates.period_s or self.duration_s)
        n_cells = n_stretches * math.ceil(max(_LEAST_CELLS, _CELLS_OF_A_PERIOD * periods) / n_stretches)
        course = self._course(np.linspace(0.0, self.duration_s, n_cells + 1), repeats=repeats)
        peak = int(course.end_waiting.argmax())
        most, end_s = float(course.end_waiting[peak]), float(course.edges_s[peak + 1])
        overloads = course.overloads() if self.standing.crowd else ()
        limit = self.standing.limit
        return OverTime(
            scheduler=self.standing.prepared[1].scheduler,
            tier=self.standing.tier,
            kind=FLUID if self.standing.crowd else STEADY,
            limit_rps=limit.rate_rps,
            binds=limit.binds,
            rate_rps=float(course.come.sum()) / self.duration_s,
            duration_s=self.duration_s,
            goodput_frac=course.mean(course.met.goodput_frac),
            mean_ttft_s=course.mean(course.met.mean_ttft_s),
            p50_ttft_s=course.quantile(0.5),
            p90_ttft_s=course.quantile(0.9),
            p99_ttft_s=course.quantile(0.99),
            peak_waiting=most,
            peak_s=next((one.peak_s for one in overloads if one.peak_waiting == most), end_s),
            stretches=course.stretches(n_stretches),
            overloads=overloads,
            warnings=self._warnings(float((course.come / np.diff(course.edges_s)).max())),
        )

    def _warnings(self, highest_rps: float) -> tuple[str, ...]:
        """Those of the highest rate; well above the limit an error of it is small beside the backlog."""
        limit = self.standing.limit
        setting = self.standing.prepared[1].at_rate(highest_rps, limit.rate_rps)
        notes = _models.outside(setting, limit)
        if highest_rps >= LEAST_OVERLOAD * limit.rate_rps:
            notes = tuple(text for text in notes if not text.endswith(_models.CLOSE_NOTE))
        return (*notes, *self.standing.missing(highest_rps))

    def _course(self, edges_s: Floats, *, repeats: bool) -> Course:
        """What is met in each cell of time, asked for in its middle and at its end."""
        times = np.linspace(0.0, self.duration_s, 2 * len(edges_s) - 1)
        come = np.diff(self.rates.arrived(times))
        standing, crowd = self.standing, self.standing.crowd
        if crowd is None:
            found = np.repeat((come / np.diff(times))[:, None], len(LEVELS), axis=1)
            ranks = Ranks(points=standing.reaching(float(found.max())), slo=standing.workload.slo, crowd=None)
            beyond = np.zeros(len(found))
        else:
            if repeats:
                start = crowd.paths(self.rates, times[-1:], crowd.empty())[0]
            else:
                start, crowd = (
                    crowd.empty(),
                    replace(crowd, young=standing.young(self.rates, self.duration_s)),
                )
            laws = crowd.paths(self.rates, times[1:], start)
            found = np.array([law.at_levels(LEVELS) for law in laws])
            ranks = standing.ranks
            beyond = np.array([float(law.at_levels(_MIDDLE)[0]) - crowd.full for law in laws])
        return Course(
            edges_s=edges_s,
            come=come[::2] + come[1::2],
            limit_rps=standing.limit.rate_rps,
            met=ranks.met(found[::2]),
            end_waiting=ranks.met(found[1::2]).waiting,
            beyond=beyond[1::2],
            rates=self.rates,
        )
