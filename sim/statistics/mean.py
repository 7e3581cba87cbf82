"""Intervals for means: by batch means of one long run or within replications, or over replications."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ._runs import Floats, Runs, as_runs, as_values, check_level, t_quantile
from ._spread import spread_of
from .interval import Interval

__all__ = ["estimate_mean", "replication_interval", "skewed_limits"]

_LEAST_FOR_SKEW = 10  # the skewness of fewer parts is noise


def skewed_limits(centre: float, variance: float, parts: Floats, level: float) -> tuple[float, float]:
    r"""Limits of a t-interval, bent by the skewness of the parts [1]_.

    With the skewness :math:`\hat\gamma` of :math:`k` parts and :math:`\beta = \hat\gamma / (6\sqrt k)` the
    quantile :math:`t` of Student's distribution becomes

    .. math:: G(t) = \frac{\sqrt[3]{1 + 6 \beta (t - \beta)} - 1}{2 \beta} .

    Means of waiting times have a long upper tail, and where they come out low their variance does too; the
    plain interval then misses high truths. Under 10 parts the skewness is not used.

    Parameters
    ----------
    centre, variance : float
        The estimate, and the variance of it, >= 0.
    parts : array of float, shape (k,)
        What the variance is from, k >= 2.
    level : float
        In (0, 1).

    References
    ----------
    .. [1] Willink (2005), "A confidence interval and test for the mean of an asymmetric distribution",
       Communications in Statistics: Theory and Methods 34, 753-766.

    Examples
    --------
    >>> parts = np.array([1.0] * 9 + [4.0])
    >>> low, high = skewed_limits(1.3, 0.09, parts, 0.95)
    >>> print(f"{low:.2f} to {high:.2f}")
    0.89 to 3.21
    """
    k = len(parts)
    t, error = t_quantile(level, k - 1), float(np.sqrt(variance))
    off = parts - parts.mean()
    second = float(np.mean(off**2))
    beta = 0.0
    if k >= _LEAST_FOR_SKEW and second > 0:
        skewness = float(np.mean(off**3)) / second**1.5 * np.sqrt(k * (k - 1)) / (k - 2)
        beta = skewness / (6 * np.sqrt(k))
    if abs(beta) < 1e-9:
        return centre - t * error, centre + t * error
    below, above = ((np.cbrt(1 + 6 * beta * (q - beta)) - 1) / (2 * beta) for q in (-t, t))
    return float(centre - above * error), float(centre - below * error)


def estimate_mean(runs: Runs, *, level: float = 0.95) -> Interval:
    """Steady-state mean per request, with a t-interval adjusted for correlation and skewness.

    Several replications are taken as independent, their warm-up cut off (see `warm_up`); all are cut into
    batches (the rule is in the notes), which are far more numbers to know a spread from than a few
    replications. Measured on M/M/1 waits in 1, 5 and 10 runs, nominal 95 % limits hold the truth in 93 to 96
    % of 300 studies at load 0.5 with 20,000 requests in all and at 0.8 with 20,000 and 50,000, in about 94 %
    at 0.95 with 200,000 and 500,000. At 0.95 with 100,000 they cover 90 to 93 %, and are flagged.

    Parameters
    ----------
    runs : array_like of float
        One series in order of arrival, at least 11 values, or one series a replication; any unit.
    level : float
        In (0, 1).

    Returns
    -------
    Interval
        Not reliable if fewer than 200 effectively independent requests stand behind it, or if replications
        are so short that their start still shows.

    Raises
    ------
    ConfigError
        If a value is not finite, the level is out of range or the series is too short.

    Notes
    -----
    Most batches out of 32, 23, 16, 11 whose means pass von Neumann's test at 20 %, after Fishman (1978),
    "Grouping observations in digital simulation", Management Science 24, 510-521; correlation that is left
    and skewness as in Tafazzoli, Steiger and Wilson (2011), "N-Skart: a nonsequential skewness- and
    autoregression-adjusted batch-means procedure for simulation analysis", IEEE Transactions on Automatic
    Control 56, 254-264.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> print(estimate_mean(rng.exponential(2.0, size=20_000)))
    1.995 (1.962 to 2.024 at 95 %)
    """
    check_level(level)
    spread = spread_of(as_runs("runs", runs))
    low, high = skewed_limits(spread.mean, spread.variance, spread.parts, level)
    return Interval(
        estimate=spread.mean,
        low=min(low, spread.mean),
        high=max(high, spread.mean),
        level=level,
        method="batch means" if spread.n_batches else "replications",
        n_replications=spread.n_replications,
        n_batches=spread.n_batches,
        n_effective=spread.n_effective,
        reliable=not spread.reasons,
        reason="; ".join(spread.reasons),
    )


def replication_interval(values: ArrayLike, *, level: float = 0.95) -> Interval:
    """Mean of one number a replication, with its t-interval (skewness-adjusted from 10 replications on).

    For finite runs, where the number wanted is that of such a run (its p99, its makespan) and no steady state
    is claimed: then replications are independent whatever happens inside them.

    Parameters
    ----------
    values : array_like of float, shape (R,)
        One number a replication, R >= 2.
    level : float
        In (0, 1).

    Raises
    ------
    ConfigError
        If there are fewer than 2 values, one is not finite or the level is out of range.

    References
    ----------
    Law (2015), "Simulation Modeling and Analysis", 5th ed., section 9.4; `skewed_limits` for the adjustment.

    Examples
    --------
    >>> print(replication_interval([1.0, 1.2, 0.9, 1.1]))
    1.05 (0.8446 to 1.255 at 95 %)
    """
    check_level(level)
    array = as_values("values", values, least=2)
    mean = float(array.mean())
    low, high = skewed_limits(mean, float(array.var(ddof=1)) / len(array), array, level)
    return Interval(
        estimate=mean,
        low=min(low, mean),
        high=max(high, mean),
        level=level,
        method="replications",
        n_replications=len(array),
    )
