"""Open arrivals with a daily rhythm."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ConvergenceError
from qtheory.basics.ranges import at_most, number_between

from ._limits import CV_RANGE, LONGEST_S
from .arrivals import spelled
from .modulated import ModulatedArrivals

__all__ = ["DayArrivals"]

Floats = NDArray[np.float64]

_DAY_S = 86_400.0
_CLOSE = 2e-15  # radians: the last bit of a phase below one turn


@dataclass(frozen=True, slots=True, kw_only=True)
class DayArrivals(ModulatedArrivals):
    r"""Rate that swings round its mean like a sine: :math:`r(t)=1+a\sin(2\pi t/\mathrm{period})`.

    At time 0 of the day the rate is its mean and rises; it is highest after a quarter of the period and
    lowest after three.

    Parameters
    ----------
    peak_to_mean : float
        Highest over mean rate, :math:`1+a`, from 1 to 2 (default 2: the rate falls to 0 once a day).
    period_s : float
        Length of the day, seconds, 1e-6 .. 1e9.
    start_s : float
        Time of the day at which the arrivals begin, seconds, 0 .. 1e9.
    cv : float
        Coefficient of variation of the gaps while the rate does not change, 1e-6 .. 1e3 (default 1: Poisson).
    client_cap : int
        Largest number of requests in flight at the client, >= 0; 0 is no limit.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> day = DayArrivals(peak_to_mean=1.5, period_s=600.0)
    >>> times = day.arrival_times(np.random.default_rng(1), 10.0, duration_s=600.0)
    >>> print(day, [int(((300 * i <= times) & (times < 300 * (i + 1))).sum()) for i in range(2)])
    day(peak_to_mean=1.5, period_s=600) [3998, 2014]
    """

    peak_to_mean: float = 2.0
    period_s: float = _DAY_S
    start_s: float = 0.0
    cv: float = 1.0
    client_cap: int = 0

    def __post_init__(self) -> None:
        checks.positive(peak_to_mean=self.peak_to_mean, period_s=self.period_s, cv=self.cv)
        number_between("cv", self.cv, *CV_RANGE)
        checks.non_negative(start_s=self.start_s)
        at_most(LONGEST_S, start_s=self.start_s)
        number_between("period_s", self.period_s, 1e-6, LONGEST_S)
        checks.at_least(0, client_cap=self.client_cap)
        if not 1 <= self.peak_to_mean <= 2:
            raise ConfigError(
                f"peak_to_mean: {self.peak_to_mean:g} must be between 1 and 2; a profile may go higher"
            )

    @property
    def _clock_cv(self) -> float:
        return self.cv

    def _inverse(self, rng: np.random.Generator) -> Callable[[Floats], Floats]:
        swing, turn_s = self.peak_to_mean - 1.0, self.period_s / (2.0 * math.pi)
        start = math.fmod(self.start_s, self.period_s) / turn_s  # radians, as is all that follows

        def inverse(work: Floats) -> Floats:
            total = work / turn_s + start + swing * (1.0 - math.cos(start))
            turns, rest = np.divmod(total, 2.0 * math.pi)
            phase = _phase(rest, swing)
            return np.maximum((turns * 2.0 * math.pi + phase - start) * turn_s, 0.0)  # -1e-17 becomes 0

        return inverse

    def __str__(self) -> str:
        return spelled(
            "day",
            peak_to_mean=self.peak_to_mean,
            period_s=self.period_s,
            start_s=self.start_s,
            cv=self.cv if self.cv != 1 else 0.0,
            client_cap=self.client_cap,
        )


def _phase(work: Floats, swing: float) -> Floats:
    """Solve x + swing (1 - cos x) = work for x in one turn: Newton's method between closing bounds."""
    x, low, high = work.copy(), np.zeros_like(work), np.full_like(work, 2.0 * math.pi)
    active = np.arange(len(work))
    for _ in range(200):
        at = x[active]
        miss = at + swing * (1.0 - np.cos(at)) - work[active]
        low[active] = np.where(miss < 0, at, low[active])
        high[active] = np.where(miss > 0, at, high[active])
        with np.errstate(divide="ignore", invalid="ignore"):
            new = at - miss / (1.0 + swing * np.sin(at))
        inside = (new > low[active]) & (new < high[active])  # false for NaN
        new = np.where(inside, new, 0.5 * (low[active] + high[active]))
        done = np.abs(miss) <= _CLOSE
        x[active] = np.where(done, at, new)
        active = active[~done & (np.abs(new - at) > _CLOSE)]
        if not len(active):
            return x
    raise ConvergenceError(f"{len(active)} arrival times are not found in 200 steps; give another period_s")
