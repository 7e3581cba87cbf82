r"""How far a mean of correlated requests may be off: replications, or batch means of one run.

All of `estimate_mean`, `estimate_share` and `estimate_percentile` rest on this: a share is the mean of zeros
and ones, and a percentile is where such a share reaches its level.

Several replications are independent, so their means are the parts. One run is cut into :math:`k` batches,
with the most batches out of 32, 23, 16 and 11 (each by :math:`\sqrt 2` fewer) whose means pass von Neumann's
test against positive correlation at the 20 % level [1]_, [2]_. What correlation :math:`\hat\varphi` is left
at lag 1 widens the variance of the mean as in N-Skart [3]_:

.. math:: \hat v = \frac{S^2}{k} \cdot \frac{1 + \hat\varphi}{1 - \hat\varphi}, \qquad \hat\varphi \ge 0 .

The effective number of observations is :math:`n_e = s^2 / \hat v` with the variance :math:`s^2` of single
requests.

References
----------
.. [1] Von Neumann (1941), "Distribution of the ratio of the mean square successive difference to the
   variance", Annals of Mathematical Statistics 12, 367-395.
.. [2] Fishman (1978), "Grouping observations in digital simulation", Management Science 24, 510-521.
.. [3] Tafazzoli, Steiger and Wilson (2011), "N-Skart: a nonsequential skewness- and autoregression-adjusted
   batch-means procedure for simulation analysis", IEEE Transactions on Automatic Control 56, 254-264.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qtheory.basics.errors import ConfigError

from ._runs import Floats

__all__ = ["Spread", "spread_of"]

_BATCH_COUNTS = (32, 23, 16, 11)
_TEST_QUANTILE = 0.8416  # of the normal distribution: a test at the 20 % level
# Measured: with 30 to 60 in truth, nominal 95 % limits of M/M/1 and M/G/1 waits cover 86 to 92 %. The number
# is itself an estimate, too high where the limits are too narrow, so 200 are asked for.
_LEAST_EFFECTIVE = 200.0
_LEAST_A_RUN = 10.0  # an empty start shifts the mean of a run by about a quarter over this number


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """A mean, the variance of that mean, and what stands behind it.

    Parameters
    ----------
    mean, variance : float
        Mean over all requests, and the estimated variance of this mean.
    parts : array of float, shape (k,)
        Means of the replications or batches, with the mean of all as their mean.
    n_replications, n_batches : int
    n_effective : float
        Independent requests that would give the same variance, at most the number of requests.
    reasons : tuple of str
        Why an interval built on it would cover less than it says; empty if nothing speaks against it.
    """

    mean: float
    variance: float
    parts: Floats
    n_replications: int
    n_batches: int
    n_effective: float
    reasons: tuple[str, ...]


def _lag_one(parts: Floats) -> float:
    """Correlation of neighbours, 0 where negative: never a reason to claim more than independence."""
    off = parts - parts.mean()
    square = float(off @ off)
    return max(float(off[1:] @ off[:-1]) / square, 0.0) if square > 0 else 0.0


def _correlated(parts: Floats) -> bool:
    """Von Neumann's ratio, normal under independence with mean 2 and variance 4 (k - 2) / (k^2 - 1)."""
    off, k = parts - parts.mean(), len(parts)
    square = float(off @ off)
    if square == 0:
        return False
    ratio = float(np.sum(np.diff(parts) ** 2)) / square
    return bool((2 - ratio) / np.sqrt(4 * (k - 2) / (k**2 - 1)) > _TEST_QUANTILE)


def _batches(run: Floats) -> Floats:
    """Batch means (k,) of a run, without a few requests at its start: the most that pass, else the fewest."""
    if len(run) < _BATCH_COUNTS[-1]:
        raise ConfigError(
            f"runs: one run of {len(run)} values; give at least {_BATCH_COUNTS[-1]}, or several replications"
        )
    parts = run
    for k in _BATCH_COUNTS:
        size = len(run) // k
        if size == 0:
            continue
        parts = run[len(run) - k * size :].reshape(k, size).mean(axis=1)  # (k,)
        if not _correlated(parts):
            break
    return parts


def _replications(runs: list[Floats]) -> Floats:
    """Means of the replications (R,); with unequal lengths linearised, as a ratio of sum to number."""
    totals = np.array([run.sum() for run in runs])  # (R,)
    sizes = np.array([len(run) for run in runs], dtype=float)  # (R,)
    mean = totals.sum() / sizes.sum()
    parts: Floats = mean + (totals - mean * sizes) / sizes.mean()
    return parts


def _doubts(n_effective: float, n_runs: int) -> tuple[str, ...]:
    if n_effective < _LEAST_EFFECTIVE:
        few = f"correlation leaves about {n_effective:.0f} independent requests"
        return (f"{few}, fewer than {_LEAST_EFFECTIVE:.0f}",)
    if n_runs > 1 and n_effective / n_runs < max(_LEAST_A_RUN, n_runs / 5):
        few = f"about {n_effective / n_runs:.0f} independent requests in each replication"
        return (f"{few}: its start still shows, make it longer",)
    return ()


def spread_of(runs: list[Floats]) -> Spread:
    """Mean over all requests and its variance, from batches of one run or from several replications.

    Raises
    ------
    ConfigError
        If there is one run of fewer than 11 values.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> spread = spread_of([rng.exponential(size=20_000)])
    >>> print(f"{spread.mean:.2f}, {spread.n_batches} batches, effective {spread.n_effective:.0f}")
    1.00, 32 batches, effective 17503
    """
    alone = len(runs) == 1
    parts = _batches(runs[0]) if alone else _replications(runs)
    inflation = (1 + (rest := _lag_one(parts))) / (1 - rest) if alone else 1.0
    k, pool = len(parts), np.concatenate(runs)
    variance = float(inflation * parts.var(ddof=1) / k)
    n_effective = min(float(pool.var()) / variance, float(len(pool))) if variance > 0 else float(len(pool))
    return Spread(
        mean=float(pool.mean()),
        variance=variance,
        parts=parts,
        n_replications=len(runs),
        n_batches=k if alone else 0,
        n_effective=n_effective,
        reasons=_doubts(n_effective, len(runs)),
    )
