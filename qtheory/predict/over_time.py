"""What a scheduler does while the rate changes: over a day, through an overload, and after it."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ServingError, UnstableError
from qtheory.system.replica import ReplicaSpec
from qtheory.system.workload import OpenArrivals, Workload

from . import _models
from ._astray import Astray
from ._course import Course
from ._crowd import Crowd
from ._fluid import Fluid
from ._overload import finite
from ._ranks import LEVELS, Ranks
from ._rates import Rates, steady_kind
from .limits import Limit
from .predict import TIERS, predict, sweep
from .prediction import Prediction
from .stretches import OverTime

__all__ = ["predict_over_time"]

Floats = NDArray[np.float64]

_LOADS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.78, 0.85, 0.9, 0.93, 0.95)
_FINE_LOADS = (0.02, *(0.025 * k for k in range(2, 39)))
_NEARER = (0.97, 0.985, 0.995)
_HALF = 0.5
_LEAST_CELLS = 240
_MIDDLE = np.array([0.5])
_AGED = 300  # mean times that a request runs; in a longer time ages are not looked at
_FULL_LOAD, _FULL = 1.5, 40  # such an overload, and for how many of these times
FLUID, STEADY = "fluid + diffusion, between steady states", "steady states one after the other"


def predict_over_time(
    replica: ReplicaSpec,
    workload: Workload,
    *,
    scheduler: str | None = None,
    tier: str = "numeric",
    duration_s: float | None = None,
    n_stretches: int = 24,
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
        For which requests come, > 0 (default: one day or profile, else that of the workload).
    n_stretches : int
        Parts that are told apart, 1 .. 1000.
    repeats : bool
        Whether the time before was the same; else the system is empty at the start.

    Raises
    ------
    ConfigError
        If there is no model, a number is out of range, or no length of time is known.
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
    >>> print(f"{found.goodput_frac:.2f} good, up to {overload.peak_waiting:.0f} wait")
    0.40 good, up to 22111 wait
    """
    checks.one_of("tier", tier, TIERS)
    checks.at_least(1, n_stretches=n_stretches)
    if not isinstance(workload.arrivals, OpenArrivals):
        raise ConfigError(f"arrivals: {workload.arrivals} have no rate; over time a prediction needs one")
    rates = Rates(arrivals=workload.arrivals, mean_rps=workload.offered_rps)
    seconds = duration_s or rates.period_s or workload.duration_s
    if seconds is None and workload.n_requests is not None:
        seconds = workload.n_requests / workload.offered_rps
    if seconds is None:
        raise ConfigError("duration_s: give a length of time; the arrivals have none of their own")
    checks.positive(duration_s=seconds)
    steady = replace(workload, arrivals=steady_kind(workload.arrivals))
    asked = _Asked(
        replica=replica,
        workload=steady,
        scheduler=scheduler,
        tier=tier,
        rates=rates,
        duration_s=float(seconds),
    )
    return asked.answer(n_stretches, repeats=repeats)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Asked:
    """The question, with arrivals of a rate that stays beside the rates."""

    replica: ReplicaSpec
    workload: Workload
    scheduler: str | None
    tier: str
    rates: Rates
    duration_s: float

    def answer(self, n_stretches: int, *, repeats: bool) -> OverTime:
        """All that is said of it."""
        n_cells = n_stretches * math.ceil(_LEAST_CELLS / n_stretches)
        course = self._course(np.linspace(0.0, self.duration_s, n_cells + 1), repeats=repeats)
        peak = int(course.end_waiting.argmax())
        setting = self._prepared[1].at_rate(0.5 * self._limit.rate_rps, self._limit.rate_rps)
        return OverTime(
            scheduler=setting.scheduler,
            tier=self.tier,
            kind=FLUID if self._crowd else STEADY,
            limit_rps=self._limit.rate_rps,
            binds=self._limit.binds,
            rate_rps=float(course.come.sum()) / self.duration_s,
            duration_s=self.duration_s,
            goodput_frac=course.mean(course.met.goodput_frac),
            mean_ttft_s=course.mean(course.met.mean_ttft_s),
            p50_ttft_s=course.quantile(0.5),
            p90_ttft_s=course.quantile(0.9),
            p99_ttft_s=course.quantile(0.99),
            peak_waiting=float(course.end_waiting[peak]),
            peak_s=float(course.edges_s[peak + 1]),
            stretches=course.stretches(n_stretches),
            overloads=course.overloads() if self._crowd else (),
            warnings=_models.outside(
                setting.at_rate(0.5 * self._limit.rate_rps, self._limit.rate_rps), self._limit
            ),
        )

    def _course(self, edges_s: Floats, *, repeats: bool) -> Course:
        """What is met in each cell of time, asked for in its middle and at its end."""
        times = np.linspace(0.0, self.duration_s, 2 * len(edges_s) - 1)
        come = np.diff(self.rates.arrived(times))
        crowd = self._crowd
        if crowd is None:
            found = np.repeat((come / np.diff(times))[:, None], len(LEVELS), axis=1)
            ranks = Ranks(points=self._reaching(float(found.max())), slo=self.workload.slo, crowd=None)
            is_clear = np.ones(len(found), dtype=bool)
        else:
            if repeats:
                start = crowd.paths(self.rates, times[-1:], crowd.empty())[0]
            else:
                start, crowd = crowd.empty(), replace(crowd, young=self._young)
            laws = crowd.paths(self.rates, times[1:], start)
            found = np.array([law.at_levels(LEVELS) for law in laws])
            ranks = Ranks(
                points=self._points, slo=self.workload.slo, crowd=crowd, full_good_frac=self._full_good_frac
            )
            is_clear = np.array([float(law.at_levels(_MIDDLE)[0]) <= crowd.full for law in laws])
        return Course(
            edges_s=edges_s,
            come=come[::2] + come[1::2],
            limit_rps=self._limit.rate_rps,
            met=ranks.met(found[::2]),
            end_waiting=ranks.met(found[1::2]).waiting,
            is_clear=is_clear[1::2],
        )

    @cached_property
    def _prepared(self) -> tuple[_models.Model, _models.Setting]:
        return _models.prepared(self.replica, self.workload, self.scheduler)

    @cached_property
    def _limit(self) -> Limit:
        model, setting = self._prepared
        return model.limit(setting)

    @cached_property
    def _points(self) -> list[Prediction]:
        """Steady states at rates up to the limit, as far as there are any."""
        loads = _FINE_LOADS if self.tier == "closed" else _LOADS
        rates = [load * self._limit.rate_rps for load in loads]
        if self._prepared[0].steps is None:
            rates += [load * self._limit.rate_rps for load in _NEARER]
        if self.tier == "closed":
            with contextlib.suppress(ServingError):
                return sweep(self.replica, self.workload, rates, scheduler=self.scheduler, tier=self.tier)
        found: list[Prediction] = []
        for rate in rates:
            try:
                found.append(self._at(rate))
            except ServingError:
                if rate > _HALF * self._limit.rate_rps:
                    break
        return found

    def _reaching(self, most_rps: float) -> list[Prediction]:
        """Those, and one at the highest rate if it is beyond; raises where that has no steady state."""
        model, setting = self._prepared
        limit = self._limit.rate_rps
        if most_rps >= limit and not model.always_stable:
            raise UnstableError(
                f"rate_rps: up to {most_rps:.4g} come, above the limit of {limit:.4g} req/s of "
                f"{setting.scheduler}, and there is no model of what that leaves; lower the rate, or simulate"
            )
        points = self._points
        return points if points and points[-1].rate_rps >= most_rps else [*points, self._at(most_rps)]

    def _at(self, rate_rps: float) -> Prediction:
        return predict(
            self.replica, self.workload, rate_rps=rate_rps, scheduler=self.scheduler, tier=self.tier
        )

    @cached_property
    def _crowd(self) -> Crowd | None:
        """The number in system, where there is a model of overload."""
        model, setting = self._prepared
        if model.steps is None:
            return None
        limit = self._limit
        running = [0.0, *(point.mean_running for point in self._points), max(limit.running, 1.0)]
        ended = [0.0, *(point.rate_rps for point in self._points), limit.rate_rps]
        return Crowd(
            running=np.maximum.accumulate(np.minimum(running, running[-1])) + 1e-9 * np.arange(len(running)),
            ended_rps=np.array(ended),
            burstiness=setting.engine.demand.burstiness,
            work_scv=Astray(self._overload).work_scv,
        )

    def _fluid(self, rate_rps: float, duration_s: float, rates: Rates | None = None) -> Fluid:
        model, setting = self._prepared
        if model.steps is None:
            raise ConfigError(f"scheduler: there is no model of {setting.scheduler} above its limit")
        return Fluid(
            engine=setting.engine,
            rule=model.steps,
            limit=self._limit,
            rate_rps=rate_rps,
            duration_s=duration_s,
            rates=rates,
        )

    @property
    def _lifetime_s(self) -> float:
        """How long a request runs at the limit."""
        return self._limit.running / self._limit.rate_rps

    @property
    def _overload(self) -> Fluid:
        """One in which nearly all meet full places."""
        return self._fluid(_FULL_LOAD * self._limit.rate_rps, _FULL * self._lifetime_s)

    @property
    def _young(self) -> tuple[Floats, Floats] | None:
        """Who ends on the path of means, over who would if it were settled; None of a long time."""
        if self.duration_s > _AGED * self._lifetime_s:
            return None
        fluid = self._fluid(self.rates.mean_rps, self.duration_s, self.rates)
        path = fluid.path
        coming = path.times_s < self.duration_s
        ended = path.ended[coming] / np.maximum(fluid.settled_rps(path.running[coming]), 1e-9)
        return path.times_s[coming], np.minimum(ended, 1.0)  # runs do not come back from an overload at once

    @property
    def _full_good_frac(self) -> float:
        """Share of the requests whose tokens come in time where all places are taken."""
        fluid = self._overload
        setting = replace(self._prepared[1], rate_rps=fluid.rate_rps)
        return float(finite(setting, self._limit, fluid.rule, fluid.duration_s)["tpot_good_frac"])
