r"""Is this rate stable? Growth of a backlog or a latency over one run, told from its wandering.

An overloaded queue grows by a drift, a stable one is pulled back, and at the border between them it wanders
like a random walk. Batch means :math:`Y_1, \dots, Y_k` (a first fifth left out) with increments :math:`D_i`
tell them apart:

*Growth*: :math:`t_g = \bar D / \sqrt{1.5 \, s_D^2 / (k - 1)}`. For a random walk without drift it is
Student's :math:`t`; the 1.5 is there since increments of averages of a random walk correlate by 1/4 [1]_. In
a stable queue neighbouring increments cancel, so :math:`t_g` is then near 0: no correction for correlation is
needed, and the error is at its largest, the level of the test, at the border.

*Return*: the Dickey-Fuller statistic [2]_, Student's ratio of :math:`b` in
:math:`D_i = a + b \, Y_{i-1} + e_i`, with critical values from [3]_. A random walk gives :math:`b` near 0, a
stable queue :math:`b < 0`.

Stability has been checked from arrivals and departures before in [4]_, and by unit-root tests in [5]_.

References
----------
.. [1] Working (1960), "Note on the correlation of first differences of averages in a random chain",
   Econometrica 28, 916-918.
.. [2] Dickey and Fuller (1979), "Distribution of the estimators for autoregressive time series with a unit
   root", JASA 74, 427-431.
.. [3] MacKinnon (2010), "Critical values for cointegration tests", Queen's Economics Department working paper
   1227.
.. [4] Wieland, Pasupathy and Schmeiser (2003), "Queueing-network stability: simulation-based checking",
   Winter Simulation Conference.
.. [5] Krivenko (2025), "Comparative analysis of queuing system stability tests", Informatics and Applications
   19 (1), 61-66.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from qtheory.basics.errors import ConfigError

from ._runs import Floats, as_values, check_level, t_quantile
from .interval import Interval

__all__ = ["Stability", "stability"]

_MOST_BATCHES = 64
_LEAST_BATCHES = 16
_BATCH = 5  # samples in a batch at least
_SKIPPED = 0.2  # share of the run taken as its start
_LATE_LEVEL = 0.8  # one-sided, for growth in the second half: a slow start that has ended is no overload


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """Verdict on one run at one rate.

    Parameters
    ----------
    verdict : str
        ``"overloaded"``: it grows, and still does in the second half. ``"stable"``: it returns to its level.
        ``"undecided"``: the run does not tell; a longer one will, unless the load is at the border.
    slope : Interval or None
        Growth per second, in units of the series; None with too few samples.
    growth_t, return_t : float or None
        The two statistics.
    reason : str
        One line for a person.

    Examples
    --------
    >>> said = stability(np.arange(50.0), np.arange(50.0))
    >>> said.verdict, said.slope
    ('undecided', None)
    """

    verdict: str
    slope: Interval | None
    growth_t: float | None
    return_t: float | None
    reason: str


def _ratio(value: float, error: float) -> float:
    """Student's ratio, at most a thousand million where there is no spread."""
    return value / max(error, 1e-9 * abs(value)) if value else 0.0


def _growth(step: Floats) -> float:
    """Mean increment of batch means over its standard error under a random walk."""
    return _ratio(float(step.mean()), float(np.sqrt(1.5 * step.var(ddof=1) / len(step))))


def _dickey_fuller(level: Floats, step: Floats) -> float:
    """Student's ratio of the slope of steps (k-1,) on levels (k-1,); 0 if the levels have no spread."""
    x = level - level.mean()
    square = float(np.sum(x * x))
    if square == 0:
        return 0.0
    slope = float(np.sum(x * step)) / square
    rest = step - step.mean() - slope * x
    return _ratio(slope, float(np.sqrt(np.sum(rest * rest) / (len(x) - 2) / square)))


def _critical(n: int) -> float:
    """5 % point of the Dickey-Fuller statistic with a constant, for ``n`` steps [MacKinnon 2010, table 2]."""
    return -2.86154 - 2.8903 / n - 4.234 / n**2 - 40.04 / n**3


def _batched(values: Floats, k: int) -> Floats:
    size = len(values) // k
    means: Floats = values[len(values) - k * size :].reshape(k, size).mean(axis=1)
    return means


def _verdict(growth: float, late: float, back: float, n: int, level: float) -> tuple[str, str]:
    grows = growth > t_quantile(level, n - 1)
    if grows and late > t_quantile(2 * _LATE_LEVEL - 1, n - n // 2 - 1):
        return "overloaded", f"grows to the end of the run (t = {growth:.1f})"
    if grows:
        return "undecided", "grows at first and not in the second half: run longer"
    if back < _critical(n):
        return "stable", f"returns to its level (Dickey-Fuller {back:.1f})"
    return "undecided", "neither grows for certain nor returns to a level: run longer"


def stability(time_s: ArrayLike, series: ArrayLike, *, level: float = 0.95) -> Stability:
    """Whether a load can be sustained, from one run.

    The number in the system is the safest series, sampled at arrivals or at equal times; a TTFT does where
    the order of service is that of arrival. The arrival rate must not change over the run. Requests that are
    shed leave the backlog: such a system is stable, whatever its goodput.

    Measured on M/M/1 queues with 20,000 customers: "overloaded" is said in no run at loads up to 0.98, in 4 %
    of runs at load 1 exactly, 38 % at 1.02, 98 % at 1.05 and all at 1.2; "stable" in 99 % of runs at 0.9, 75
    % at 0.95, 27 % at 0.98 and 6 % at load 1.

    Parameters
    ----------
    time_s : array_like of float, shape (n,)
        Moments of the samples, seconds, not decreasing.
    series : array_like of float, shape (n,)
        Number in system or waiting, or TTFT in seconds, at these moments.
    level : float
        Of the interval of the slope; growth is called at the one-sided level (1 + level) / 2. In (0, 1).

    Returns
    -------
    Stability
        Undecided if fewer than 80 samples follow the first fifth.

    Raises
    ------
    ConfigError
        If the lengths differ, times decrease or do not advance, a value is not finite or the level is out of
        range.

    Notes
    -----
    The tests and their sources are at the top of this module.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> time_s = np.cumsum(rng.exponential(size=2_000))
    >>> growing = stability(time_s, 0.1 * time_s + rng.exponential(5.0, size=2_000))
    >>> print(growing.verdict, growing.slope)
    overloaded 0.1007 (0.08558 to 0.1158 at 95 %)
    """
    check_level(level)
    at_s, seen = as_values("time_s", time_s), as_values("series", series)
    if len(at_s) != len(seen):
        raise ConfigError(f"series: {len(seen)} values, but time_s has {len(at_s)}")
    if np.any(np.diff(at_s) < 0):
        raise ConfigError("time_s: decreases somewhere; give samples in order of time")
    first = int(_SKIPPED * len(seen))
    k = min(_MOST_BATCHES, (len(seen) - first) // _BATCH)
    if k < _LEAST_BATCHES:
        few = f"{len(seen)} samples are too few: {_LEAST_BATCHES * _BATCH} are needed after the first fifth"
        return Stability(verdict="undecided", slope=None, growth_t=None, return_t=None, reason=few)
    means, moments_s = _batched(seen[first:], k), _batched(at_s[first:], k)  # (k,)
    if moments_s[-1] <= moments_s[0]:
        raise ConfigError("time_s: all samples are of the same moment")
    return _judged(means, float(moments_s[-1] - moments_s[0]) / (k - 1), level)


def _judged(means: Floats, step_s: float, level: float) -> Stability:
    step, n = np.diff(means), len(means) - 1
    growth, back = _growth(step), _dickey_fuller(means[:-1], step)
    verdict, reason = _verdict(growth, _growth(step[n // 2 :]), back, n, level)
    if np.ptp(means) == 0:
        verdict, reason = "stable", "does not change at all"
    half = t_quantile(level, n - 1) * float(np.sqrt(1.5 * step.var(ddof=1) / n))
    mean = float(step.mean())
    slope = Interval(
        estimate=mean / step_s,
        low=(mean - half) / step_s,
        high=(mean + half) / step_s,
        level=level,
        method="increments of batch means",
        n_batches=len(means),
    )
    return Stability(verdict=verdict, slope=slope, growth_t=growth, return_t=back, reason=reason)
