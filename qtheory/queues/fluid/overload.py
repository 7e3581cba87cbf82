"""A fluid queue under a rate that changes: what an overload leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.basics import checks
from qtheory.queues.result import QueueResult

from ._rates import checked_rates

__all__ = ["FluidQueue", "FluidResult"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class FluidResult(QueueResult):
    """A fluid queue over its time span; the mean wait is over all that arrive.

    Parameters
    ----------
    max_wait_s : float
        Longest wait, seconds.
    final_wait_s : float
        Wait of one who comes at the end, seconds.
    drain_s : float
        Time after the end until the backlog is gone if nothing more comes, seconds.

    Examples
    --------
    >>> queue = FluidQueue(times_s=[0.0, 10.0], rates_rps=[2.0], mean_service_s=1.0)
    >>> queue.solve().drain_s
    10.0
    """

    max_wait_s: float
    final_wait_s: float
    drain_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FluidQueue:
    r"""Approximation of a queue in overload as a fluid: the backlog moves at :math:`\rho(t)-1`, not below 0.

    In seconds of work, so that it is the wait of one who comes then; from empty at the first time. Randomness
    is left out: good where the load is well above 1 for long, 0 where it is below 1 [1]_.

    Parameters
    ----------
    times_s : sequence of float
        Times at which the rate changes, seconds, increasing; the last is the end.
    rates_rps : sequence of float
        Arrival rates between them, requests per second, >= 0.
    mean_service_s : float
        Mean service time, seconds, > 0.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    References
    ----------
    .. [1] Newell (1982), "Applications of Queueing Theory", 2nd ed., Chapman and Hall, chapter 2.

    Examples
    --------
    >>> queue = FluidQueue(times_s=[0.0, 60.0, 300.0], rates_rps=[15.0, 8.0], mean_service_s=0.1)
    >>> answer = queue.solve()
    >>> answer.max_wait_s, round(float(queue.wait_at_s(180.0)), 9)
    (30.0, 6.0)
    >>> round(queue.in_time_frac(3.0), 4)  # share that waits 3 s at most
    0.3298
    """

    times_s: Sequence[float]
    rates_rps: Sequence[float]
    mean_service_s: float

    def __post_init__(self) -> None:
        checked_rates(self.times_s, self.rates_rps)
        checks.positive(mean_service_s=self.mean_service_s)

    def _path(self) -> tuple[Floats, Floats, Floats]:
        """Corners of the backlog: times and seconds of work, and the rate after each corner."""
        times, rates = checked_rates(self.times_s, self.rates_rps)
        corner, work, after = [float(times[0])], [0.0], []
        for stop, rate in zip(times[1:].tolist(), rates.tolist(), strict=True):
            slope = rate * self.mean_service_s - 1
            start, held = corner[-1], work[-1]
            empty = start - held / slope if slope < 0 else np.inf
            after.append(rate)
            if start < empty < stop:
                corner.append(empty)
                work.append(0.0)
                after.append(rate)
            corner.append(stop)
            work.append(max(held + slope * (stop - start), 0.0))
        return np.array(corner), np.array(work), np.array(after)

    def wait_at_s(self, time_s: ArrayLike) -> Floats:
        """Wait of one who comes at this time, seconds; 0 before the start, and draining after the end."""
        corner, work, _ = self._path()
        times = np.asarray(time_s, dtype=float)
        left = np.maximum(work[-1] - (times - corner[-1]), 0.0)
        return np.asarray(np.where(times > corner[-1], left, np.interp(times, corner, work, left=0.0)))

    def in_time_frac(self, limit_s: float) -> float:
        """Share of those who come that wait ``limit_s`` at most."""
        checks.non_negative(limit_s=limit_s)
        corner, work, after = self._path()
        low, high = np.minimum(work[:-1], work[1:]), np.maximum(work[:-1], work[1:])
        span = np.where(high > low, high - low, 1.0)
        below = np.where(high > low, np.clip((limit_s - low) / span, 0.0, 1.0), (low <= limit_s) * 1.0)
        come = after * np.diff(corner)
        return float(come @ below / come.sum())

    def solve(self) -> FluidResult:
        """Means over the time span."""
        corner, work, after = self._path()
        length = np.diff(corner)
        come = after * length
        mean_wait_s = float(come @ (work[:-1] + work[1:]) / 2 / come.sum())
        total_s = float(corner[-1] - corner[0])
        offered = float(come.sum()) * self.mean_service_s
        return FluidResult(
            exactness="approximation",
            route="fluid backlog; good for loads well above 1",
            utilization_frac=(offered - float(work[-1])) / total_s,
            mean_wait_s=mean_wait_s,
            mean_response_s=mean_wait_s + self.mean_service_s,
            max_wait_s=float(work.max()),
            final_wait_s=float(work[-1]),
            drain_s=float(work[-1]),
        )
