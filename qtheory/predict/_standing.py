"""Everything about a system over time that does not depend on how its rate changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError, ConvergenceError, UnstableError
from qtheory.system.replica import ReplicaSpec
from qtheory.system.workload import Workload

from . import _models
from ._astray import Astray
from ._crowd import Crowd
from ._fluid import Fluid
from ._overload import finite
from ._ranks import Ranks
from ._rates import Rates
from .limits import Limit
from .predict import predict, sweep
from .prediction import Prediction

__all__ = ["Standing"]

Floats = NDArray[np.float64]

_LOADS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.78, 0.85, 0.9, 0.93, 0.95)
_FINE_LOADS = (0.02, *(0.025 * k for k in range(2, 39)))
_NEARER = (0.97, 0.985, 0.995)
_HALF = 0.5
_AGED = 300  # mean times that a request runs; in a longer time ages are not looked at
_FULL_LOAD, _FULL = 1.5, 40  # such an overload, and for how many of these times


@dataclass(frozen=True, kw_only=True, eq=False)
class Standing:
    """A replica, with arrivals of a rate that stays: its steady states, and its crowd."""

    replica: ReplicaSpec
    workload: Workload
    scheduler: str | None
    tier: str

    @cached_property
    def prepared(self) -> tuple[_models.Model, _models.Setting]:
        """The model, and what it is given."""
        return _models.prepared(self.replica, self.workload, self.scheduler)

    @cached_property
    def limit(self) -> Limit:
        """The stability limit."""
        model, setting = self.prepared
        return model.limit(setting)

    @cached_property
    def points(self) -> list[Prediction]:
        """Steady states at rates up to the limit, as far as there are any; raises where there is none."""
        points, missed = self._tried
        if not points:
            name, (rate, why) = self.prepared[1].scheduler, missed[-1]
            raise ConvergenceError(
                f"scheduler: {name} has no steady state to go by; at {rate:.4g} req/s: {why}"
            )
        return points

    def missing(self, most_rps: float) -> tuple[str, ...]:
        """A note where a steady state that matters up to a rate was not found."""
        all_matter = self.prepared[0].steps is not None
        missed = [(rate, why) for rate, why in self._tried[1] if all_matter or rate <= most_rps]
        if not missed:
            return ()
        rates = ", ".join(f"{rate:.4g}" for rate, _ in missed)
        return (f"no steady state found at {rates} req/s, the others stand for it: {missed[-1][1]}",)

    @cached_property
    def _tried(self) -> tuple[list[Prediction], list[tuple[float, str]]]:
        """Steady states, and the rates at which the solver found none, with what it said."""
        loads = _FINE_LOADS if self.tier == "closed" else _LOADS
        rates = [load * self.limit.rate_rps for load in loads]
        if self.prepared[0].steps is None:
            rates += [load * self.limit.rate_rps for load in _NEARER]
        if self.tier == "closed":
            try:
                return sweep(self.replica, self.workload, rates, scheduler=self.scheduler, tier="closed"), []
            except ConvergenceError:
                pass  # of one of them: each is tried below
        found: list[Prediction] = []
        missed: list[tuple[float, str]] = []
        for rate in rates:
            try:
                found.append(self._at(rate))
            except ConvergenceError as error:
                missed.append((rate, str(error)))
                if rate > _HALF * self.limit.rate_rps:
                    break
        return found, missed

    def reaching(self, most_rps: float) -> list[Prediction]:
        """Those, and one at the highest rate if it is beyond; raises where that has no steady state."""
        model, setting = self.prepared
        limit = self.limit.rate_rps
        if most_rps >= limit and not model.always_stable:
            raise UnstableError(
                f"rate_rps: up to {most_rps:.4g} come, above the limit of {limit:.4g} req/s of "
                f"{setting.scheduler}, and there is no model of what that leaves; lower the rate, or simulate"
            )
        points = self.points
        return points if points[-1].rate_rps >= most_rps else [*points, self._at(most_rps)]

    def _at(self, rate_rps: float) -> Prediction:
        return predict(
            self.replica, self.workload, rate_rps=rate_rps, scheduler=self.scheduler, tier=self.tier
        )

    @cached_property
    def crowd(self) -> Crowd | None:
        """The number in system, where there is a model of overload."""
        model, setting = self.prepared
        if model.steps is None:
            return None
        limit = self.limit
        running = [0.0, *(point.mean_decoding for point in self.points), max(limit.running, 1.0)]
        ended = [0.0, *(point.rate_rps for point in self.points), limit.rate_rps]
        return Crowd(
            running=np.maximum.accumulate(np.minimum(running, running[-1])) + 1e-9 * np.arange(len(running)),
            ended_rps=np.array(ended),
            burstiness=setting.engine.demand.burstiness,
            work_scv=Astray(self._overload).work_scv,
        )

    def _fluid(self, rate_rps: float, duration_s: float, rates: Rates | None = None) -> Fluid:
        model, setting = self.prepared
        if model.steps is None:
            raise ConfigError(f"scheduler: there is no model of {setting.scheduler} above its limit")
        return Fluid(
            engine=setting.engine,
            rule=model.steps,
            limit=self.limit,
            rate_rps=rate_rps,
            duration_s=duration_s,
            rates=rates,
        )

    @property
    def _lifetime_s(self) -> float:
        """How long a request runs at the limit: a step at least, if nobody decodes."""
        in_a_step = self._fluid(self.limit.rate_rps, 1.0).per_step
        return max(self.limit.running, in_a_step) / self.limit.rate_rps

    @property
    def _overload(self) -> Fluid:
        """One in which nearly all meet full places."""
        return self._fluid(_FULL_LOAD * self.limit.rate_rps, _FULL * self._lifetime_s)

    def young(self, rates: Rates, duration_s: float) -> tuple[Floats, Floats] | None:
        """Who ends on the path of means, over who would if it were settled; None of a long time."""
        if duration_s > _AGED * self._lifetime_s:
            return None
        fluid = self._fluid(rates.mean_rps, duration_s, rates)
        path = fluid.path
        coming = path.times_s < duration_s
        ended = path.ended[coming] / np.maximum(fluid.settled_rps(path.running[coming]), 1e-9)
        return path.times_s[coming], np.minimum(ended, 1.0)  # runs do not come back from an overload at once

    @cached_property
    def ranks(self) -> Ranks:
        """What is met, by the number in system; of steady states with a crowd alone."""
        fluid = self._overload
        setting = replace(self.prepared[1], rate_rps=fluid.rate_rps)
        quick = float(finite(setting, self.limit, fluid.rule, fluid.duration_s)["tpot_good_frac"])
        return Ranks(points=self.points, slo=self.workload.slo, crowd=self.crowd, full_good_frac=quick)
