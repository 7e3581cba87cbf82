"""Interval for a share of requests of which only the shares of the replications are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from ._runs import as_values, check_level
from ._spread import Spread
from .interval import Interval
from .share import LEAST_EVENTS, wilson_limits

__all__ = ["estimate_share_of_runs"]


def estimate_share_of_runs(
    shares: ArrayLike, n_requests: ArrayLike, *, n_alike: float, level: float = 0.95
) -> Interval:
    r"""Share of good requests from one share a replication, with limits that never coincide.

    The shares weigh by their requests; how they differ gives the effective number :math:`n_e` of requests
    for Wilson's limits, as in `estimate_share`. Where fewer than 20 independent stretches of the rarer of
    good and bad are behind that, :math:`n_e` is at most ``n_alike``: replications that all end alike prove no
    more than so many requests do.

    Parameters
    ----------
    shares : array_like of float, shape (R,)
        Good requests over all requests of each replication, 0 .. 1; R >= 2.
    n_requests : array_like of float, shape (R,)
        Requests of each, >= 0, more than 0 in all.
    n_alike : float
        Effectively independent requests in all runs together, told by another quantity, > 0.
    level : float
        In (0, 1).

    Raises
    ------
    ConfigError
        If a number is out of its range, there are fewer than two replications or the lengths differ.

    References
    ----------
    Wilson's limits with an effective sample size: see `wilson_limits`.

    Examples
    --------
    >>> print(estimate_share_of_runs([1.0, 1.0, 1.0], [500, 500, 500], n_alike=200.0))
    1 (0.9153 to 1 at 95 %)
    """
    check_level(level)
    checks.positive(n_alike=n_alike)
    seen, sizes = as_values("shares", shares, least=2), as_values("n_requests", n_requests, least=2)
    if len(seen) != len(sizes):
        raise ConfigError(f"n_requests: {len(sizes)} values, but there are {len(seen)} shares")
    if np.any((seen < 0) | (seen > 1)) or np.any(sizes < 0) or not sizes.sum():
        raise ConfigError("shares: give shares of 0 to 1, of more than 0 requests in all")
    n = len(seen)
    share = float(np.sum(seen * sizes) / sizes.sum())
    parts = share + (seen - share) * sizes / sizes.mean()  # (R,)
    variance = float(parts.var(ddof=1)) / n
    own = min(share * (1 - share) / variance, float(sizes.sum())) if variance > 0 else np.inf
    is_known = variance > 0 and own * min(share, 1 - share) >= LEAST_EVENTS
    n_effective = own if is_known else min(own, n_alike)
    spread = Spread(
        mean=share,
        variance=variance,
        parts=parts,
        n_replications=n,
        n_batches=0,
        n_effective=n_effective,
        reasons=(),
    )
    low, high = wilson_limits(share, spread, n_effective, level, own=n_effective == own)
    return Interval(
        estimate=share,
        low=min(low, share),
        high=max(high, share),
        level=level,
        method="Wilson, variance over replications",
        n_replications=n,
        n_effective=n_effective,
    )
