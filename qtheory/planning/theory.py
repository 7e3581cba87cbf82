"""A scheduler's predictions as functions of the rate, asked for one by one or many at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ConvergenceError, ServingError, UnstableError
from qtheory.predict import TIERS, Prediction, limit_rps, predict, sweep
from qtheory.system.replica import ReplicaSpec
from qtheory.system.workload import Workload

__all__ = ["Theory", "failing"]

_LOADS = (
    0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.54, 0.58, 0.62, 0.65, 0.68, 0.71, 0.74,
    0.77, 0.79, 0.81, 0.83, 0.85, 0.865, 0.88, 0.895, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97, 0.978, 0.985,
    0.99, 0.995, 0.999,
)  # fmt: skip
_BEYOND = (1.05, 1.1, 1.2, 1.3, 1.5, 1.75, 2.0)
"""Loads of a scheduler that sheds what is too much, and so has no limit."""


@dataclass(frozen=True, kw_only=True)
class Theory:
    """Predictions of one tier for one scheduler.

    Parameters
    ----------
    replica : ReplicaSpec
    workload : Workload
        Lengths, kind of arrivals and limits; its rate does not matter.
    scheduler : str
        One that there is a model of.
    tier : str
        ``closed`` or ``numeric``.

    Raises
    ------
    ConfigError
        If the tier is unknown.

    Examples
    --------
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload.from_scenario import workload_of
    >>> scenario = Scenario(hardware="a100", model="llama-3.1-8b", workload="chat")
    >>> theory = Theory(
    ...     replica=replica_of(scenario), workload=workload_of(scenario), scheduler="chunked", tier="closed")
    >>> theory.has_limit, 0.99 < theory.at(5.0).goodput_frac <= 1
    (True, True)
    """

    replica: ReplicaSpec
    workload: Workload
    scheduler: str
    tier: str
    _seen: dict[float, Prediction] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        checks.one_of("tier", self.tier, TIERS)

    @cached_property
    def limit_rps(self) -> float:
        """Rate at which a queue that never empties is worked off, requests per second."""
        return limit_rps(self.replica, self.workload, scheduler=self.scheduler)

    @cached_property
    def has_limit(self) -> bool:
        """Whether there is no steady state above the limit; a scheduler that sheds has one at any rate."""
        try:
            predict(
                self.replica,
                self.workload,
                rate_rps=1.01 * self.limit_rps,
                scheduler=self.scheduler,
                tier="closed",
            )
        except UnstableError:
            return True
        except ServingError:
            return False
        return False

    @cached_property
    def closed(self) -> Theory:
        """The same in closed form."""
        return self if self.tier == "closed" else replace(self, tier="closed", _seen={})

    def at(self, rate_rps: float) -> Prediction:
        """The prediction at a rate, computed once.

        Raises
        ------
        ServingError
            As `qtheory.predict.predict`.
        """
        if rate_rps not in self._seen:
            self._seen[rate_rps] = predict(
                self.replica, self.workload, rate_rps=rate_rps, scheduler=self.scheduler, tier=self.tier
            )
        return self._seen[rate_rps]

    def good(self, rate_rps: float) -> float:
        """Share of good requests at a rate; raises as `at`."""
        return self.at(rate_rps).goodput_frac

    @cached_property
    def curve(self) -> list[Prediction]:
        """Closed predictions from low rates to the limit, or twice that without one; gaps are left out."""
        loads = _LOADS if self.has_limit else _LOADS + _BEYOND
        return self.many([load * self.limit_rps for load in loads])

    def check_covers(self, knee_rps: float | None) -> None:
        """Refuse a knee that is only the end of what the model covers.

        Raises
        ------
        ConvergenceError
            If goodput is still high enough where the predictions end.
        """
        last_rps = self.closed.curve[-1].rate_rps if self.closed.curve else 0.0
        to_the_limit = self.has_limit and last_rps > 0.99 * self.limit_rps
        if knee_rps is not None and knee_rps >= 0.998 * last_rps and not to_the_limit:
            raise ConvergenceError(
                f"goodput is still high enough at {last_rps:.4g} req/s, where the model of {self.scheduler} "
                "ends; simulate it"
            )

    def many(self, rates_rps: Sequence[float]) -> list[Prediction]:
        """Closed predictions at increasing rates; those that cannot be answered are left out."""
        if not rates_rps:
            return []
        try:
            return sweep(self.replica, self.workload, rates_rps, scheduler=self.scheduler, tier="closed")
        except (UnstableError, ConfigError, ConvergenceError):  # found by halves
            if len(rates_rps) == 1:
                return []
        middle = len(rates_rps) // 2
        return self.many(rates_rps[:middle]) + self.many(rates_rps[middle:])


def failing(point: Prediction, workload: Workload) -> str | None:
    """The limit that most requests miss at a point: ``TTFT``, ``TPOT`` or ``E2E``; None if there is none.

    Parameters
    ----------
    point : Prediction
    workload : Workload
        Has the limits.

    Examples
    --------
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload.from_scenario import workload_of
    >>> scenario = Scenario(hardware="a100", model="llama-3.1-8b", workload="chat", ttft_slo_s=0.05)
    >>> spec, workload = replica_of(scenario), workload_of(scenario)
    >>> failing(predict(spec, workload, rate_rps=5.0, tier="closed"), workload)
    'TTFT'
    """
    slo, missed = workload.slo, {}
    if slo.ttft_s is not None:
        missed["TTFT"] = 1 - point.ttft_good_frac * (1 - point.shed_frac)
    if slo.tpot_s is not None:
        missed["TPOT"] = 1 - point.tpot_good_frac
    if slo.e2e_s is not None:
        missed["E2E"] = _above(point, slo.e2e_s)
    return max(missed, key=missed.__getitem__) if missed else None


def _above(point: Prediction, limit_s: float) -> float:
    """Share of the requests whose E2E is above a limit, between the percentiles that are known."""
    shares = {50: point.p50_e2e_s, 90: point.p90_e2e_s, 95: point.p95_e2e_s, 99: point.p99_e2e_s}
    inside = [percent for percent, value in shares.items() if value <= limit_s]
    if not inside:
        return 0.5 + 0.5 * (1 - min(limit_s / point.p50_e2e_s, 1.0))
    low = max(inside)
    higher = [percent for percent in shares if percent > low]
    if not higher:
        return 0.01 * shares[99] / limit_s
    high = min(higher)
    part = math.log(limit_s / shares[low]) / math.log(shares[high] / shares[low])
    return 1 - (low + part * (high - low)) / 100
