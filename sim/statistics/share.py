"""Interval for a share of requests, such as goodput; never of zero width."""

from __future__ import annotations

import numpy as np

from qtheory.basics.errors import ConfigError

from ._runs import Runs, as_runs, check_level, t_quantile
from ._spread import Spread, spread_of
from .interval import Interval

__all__ = ["LEAST_EVENTS", "estimate_share", "wilson_limits"]

# Measured: the number of stretches is itself an estimate, too high where the limits are too narrow. Asking
# for 20 keeps out most runs with fewer than 10 in truth; of those that pass, fewer than 90 % would cover.
LEAST_EVENTS = 20.0


def wilson_limits(
    share: float, spread: Spread, n_effective: float, level: float, *, own: bool = True
) -> tuple[float, float]:
    r"""Wilson's limits [1]_ for a share seen in :math:`n_e` effectively independent requests [2]_.

    .. math:: \frac{p + t^2 / 2 n_e \pm t \sqrt{p (1 - p) / n_e + t^2 / 4 n_e^2}}{1 + t^2 / n_e}

    Where the variance is that of the share, the rarer of good and bad comes in about
    :math:`c = n_e \min(p, 1 - p)` independent stretches, which is all that it was estimated from; so
    Student's :math:`t` gets no more than :math:`c` degrees of freedom.

    Parameters
    ----------
    share : float
        As seen, 0 .. 1.
    spread : Spread
        What its variance was estimated from.
    n_effective : float
        Effectively independent requests, > 0.
    level : float
        In (0, 1).
    own : bool
        Whether the variance was estimated from the share, not from a latency.

    References
    ----------
    .. [1] Wilson (1927), "Probable inference, the law of succession, and statistical inference", JASA 22,
       209-212.
    .. [2] Korn and Graubard (1998), "Confidence intervals for proportions with small expected number of
       positive counts estimated from survey data", Survey Methodology 24, 193-201 (effective sample size).

    Examples
    --------
    >>> spread = spread_of([(np.random.default_rng(1).random(5_000) < 0.9).astype(float)])
    >>> low, high = wilson_limits(0.9, spread, 100.0, 0.95)
    >>> print(f"{low:.3f} to {high:.3f}")
    0.813 to 0.949
    """
    dof: float = len(spread.parts) - 1
    if own and spread.variance > 0:
        dof = min(dof, max(n_effective * min(share, 1 - share), 1.0))
    square = t_quantile(level, dof) ** 2 / n_effective
    middle = share + square / 2
    half = float(np.sqrt(square * share * (1 - share) + square**2 / 4))
    return max((middle - half) / (1 + square), 0.0), min((middle + half) / (1 + square), 1.0)


def _rare(
    own: Spread, n_events: float, like: Runs | None, *, whole: bool
) -> tuple[Spread, float, tuple[str, ...]]:
    """Where few of the rarer kind were seen: what to rely on, with how many requests, and what it lacks."""
    if like is not None:
        other = spread_of(as_runs("like", like), whole=whole)
        found = other if n_events == 0 or other.n_effective < own.n_effective else own
        return found, found.n_effective, found.reasons
    if n_events == 0:
        why = (
            "all requests ended alike, which does not tell how correlated they are: give latencies as 'like'"
        )
        return own, float(len(own.parts)), (why,)
    kind = "bad" if own.mean > 0.5 else "good"
    few = f"{kind} requests come in about {n_events:.0f} independent stretches, fewer than {LEAST_EVENTS:.0f}"
    return own, own.n_effective, (*own.reasons, few)


def estimate_share(
    runs: Runs, *, like: Runs | None = None, level: float = 0.95, whole: bool = False
) -> Interval:
    """Share of requests that are good, with limits that hold near 0 and 1 too.

    Measured on the share of M/M/1 waits under a limit (met by 90 and 99 %) in 1, 5 and 10 runs, the waits
    given as ``like``, nominal 95 % limits hold the truth in 93 to 99 % of 300 studies: at load 0.5 with
    20,000 requests in all, at 0.8 with 20,000 and 50,000, at 0.95 with 100,000 to 500,000.

    Parameters
    ----------
    runs : array_like of bool
        Good or not, of all requests in order of arrival, or one such series a replication.
    like : array_like of float, optional
        A latency of the same runs; used only where fewer than 20 stretches of the rarer of good and bad were
        seen, for how correlated requests are: at least as much as those that are good or bad by it.
    level : float
        In (0, 1).
    whole : bool
        True: replications are not cut into batches, as for runs of a given length, which differ from their
        start to their end.

    Returns
    -------
    Interval
        Within 0 and 1. Not reliable if fewer than 200 effectively independent requests stand behind it, or,
        without ``like``, fewer than 20 independent stretches of the rarer kind.

    Raises
    ------
    ConfigError
        If a value is neither 0 nor 1, the level is out of range or the series is too short.

    References
    ----------
    Wilson's limits with an effective sample size: see `wilson_limits`.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> print(estimate_share(rng.random(5_000) < 0.9))
    0.9006 (0.8892 to 0.9109 at 95 %)
    >>> nothing_bad = estimate_share(np.ones(5_000), like=rng.exponential(size=5_000))
    >>> print(nothing_bad)
    1 (0.9989 to 1 at 95 %)
    """
    check_level(level)
    series = as_runs("runs", runs)
    if any(np.any((run != 0) & (run != 1)) for run in series):
        raise ConfigError("runs: a share needs good or not (True, False, 1, 0) for each request")
    own = spread_of(series, whole=whole)
    share, n_events = own.mean, own.n_effective * min(own.mean, 1 - own.mean)
    if n_events >= LEAST_EVENTS:
        spread, n_effective, reasons = own, own.n_effective, own.reasons
    else:
        spread, n_effective, reasons = _rare(own, n_events, like, whole=whole)
    low, high = wilson_limits(share, spread, n_effective, level, own=spread is own)
    return Interval(
        estimate=share,
        low=min(low, share),
        high=max(high, share),
        level=level,
        method="Wilson, batch variance" if spread.n_batches else "Wilson, variance over replications",
        n_replications=spread.n_replications,
        n_batches=spread.n_batches,
        n_effective=n_effective,
        reliable=not reasons,
        reason="; ".join(reasons),
    )
