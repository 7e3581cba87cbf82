"""How many requests have come by a time, where the rate follows the clock."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qtheory.system.workload import (
    DayArrivals,
    GammaArrivals,
    OpenArrivals,
    PoissonArrivals,
    ProfileArrivals,
)

__all__ = ["Rates", "is_changing", "steady_kind"]

Floats = NDArray[np.float64]

_HALVINGS = 60


def is_changing(arrivals: object) -> bool:
    """Whether the rate follows the clock."""
    return isinstance(arrivals, DayArrivals | ProfileArrivals)


def steady_kind(arrivals: OpenArrivals) -> OpenArrivals:
    """Arrivals as bursty at a rate that stays."""
    if not isinstance(arrivals, DayArrivals | ProfileArrivals):
        return arrivals
    return PoissonArrivals() if arrivals.cv == 1 else GammaArrivals(cv=arrivals.cv)


@dataclass(frozen=True, kw_only=True, eq=False)
class Rates:
    """The rate over time: of a day, of a profile, or one that stays."""

    arrivals: OpenArrivals
    mean_rps: float

    @cached_property
    def period_s(self) -> float | None:
        """Seconds after which all begins anew; None if nothing changes."""
        if isinstance(self.arrivals, DayArrivals):
            return self.arrivals.period_s
        return float(sum(self.arrivals.lengths_s)) if isinstance(self.arrivals, ProfileArrivals) else None

    def arrived(self, times_s: Floats) -> Floats:
        """Requests that come up to these times in the mean."""
        arrivals = self.arrivals
        if not isinstance(arrivals, DayArrivals | ProfileArrivals):
            return np.asarray(self.mean_rps * times_s)
        start_s, done = self._begun
        return np.asarray(self.mean_rps * (self._work(times_s + start_s) - done))

    @cached_property
    def _begun(self) -> tuple[float, float]:
        """Where in the period all begins, and the integral of the relative rate up to there."""
        arrivals = self.arrivals
        if not isinstance(arrivals, DayArrivals | ProfileArrivals):
            return 0.0, 0.0
        start_s = math.fmod(arrivals.start_s, self.period_s or 1.0)
        return start_s, float(self._work(np.array(start_s)))

    def time_s(self, n_requests: float) -> float:
        """When so many have come in the mean, seconds."""
        period_s = self.period_s
        if period_s is None:
            return n_requests / self.mean_rps
        low = period_s * (math.ceil(n_requests / float(self.arrived(np.array(period_s)))) - 1)
        high = low + 2 * period_s
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if float(self.arrived(np.array(middle))) < n_requests:
                low = middle
            else:
                high = middle
        return high

    def _work(self, times_s: Floats) -> Floats:
        """Integral of the relative rate from the start of the period on."""
        arrivals = self.arrivals
        if isinstance(arrivals, DayArrivals):
            turn_s = arrivals.period_s / (2 * math.pi)
            swing = arrivals.peak_to_mean - 1
            return np.asarray(times_s + swing * turn_s * (1 - np.cos(times_s / turn_s)))
        if not isinstance(arrivals, ProfileArrivals):
            return np.asarray(times_s)
        edges, done = self._steps
        rounds, rest = np.divmod(times_s, edges[-1])
        return np.asarray(rounds * edges[-1] + np.interp(rest, edges, done))

    @cached_property
    def _steps(self) -> tuple[Floats, Floats]:
        """Edges of the windows of a profile, and the integral of the relative rate up to them."""
        arrivals = self.arrivals
        if not isinstance(arrivals, ProfileArrivals):
            return np.zeros(1), np.zeros(1)
        lengths = np.array(arrivals.lengths_s)
        work = lengths * np.array(arrivals.rates) / arrivals.own_rate_rps
        return np.append(0.0, np.cumsum(lengths)), np.append(0.0, np.cumsum(work))

    def edges_s(self, duration_s: float) -> Floats:
        """Times up to the end at which the rate jumps."""
        arrivals = self.arrivals
        if not isinstance(arrivals, ProfileArrivals):
            return np.array([duration_s])
        period = self.period_s or duration_s
        start = math.fmod(arrivals.start_s, period)
        rounds = np.arange(math.ceil((duration_s + start) / period))
        jumps = (period * rounds[:, None] + np.cumsum(arrivals.lengths_s)[None, :]).ravel() - start
        return np.unique(np.append(jumps[(jumps > 0) & (jumps < duration_s)], duration_s))
