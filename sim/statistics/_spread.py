r"""How far a mean of correlated requests may be off: batch means, of one run or within replications.

All of `estimate_mean`, `estimate_share` and `estimate_percentile` rest on this: a share is the mean of zeros
and ones, and a percentile is where such a share reaches its level.

The runs are cut into :math:`k` batches in all, with the most batches out of 32, 23, 16 and 11 (each by
:math:`\sqrt 2` fewer) whose means pass von Neumann's test against positive correlation at the 20 % level
[1]_, [2]_; batches of several replications are pooled around the mean of all [3]_, for the spread of five
means alone is hardly known. Where even the longest batches are correlated, or replications are short, the
replications themselves are the parts. What correlation :math:`\hat\varphi` is left at lag 1 widens the
variance of the mean as in N-Skart [4]_:

.. math:: \hat v = \frac{S^2}{k} \cdot \frac{1 + \hat\varphi}{1 - \hat\varphi}, \qquad \hat\varphi \ge 0 .

The effective number of observations is :math:`n_e = s^2 / \hat v` with the variance :math:`s^2` of single
requests.

References
----------
.. [1] Von Neumann (1941), "Distribution of the ratio of the mean square successive difference to the
   variance", Annals of Mathematical Statistics 12, 367-395.
.. [2] Fishman (1978), "Grouping observations in digital simulation", Management Science 24, 510-521.
.. [3] Argon and Andradottir (2006), "Replicated batch means for steady-state simulations", Naval Research
   Logistics 53, 508-524.
.. [4] Tafazzoli, Steiger and Wilson (2011), "N-Skart: a nonsequential skewness- and autoregression-adjusted
   batch-means procedure for simulation analysis", IEEE Transactions on Automatic Control 56, 254-264.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qtheory.basics.errors import ConfigError

from ._runs import Floats

__all__ = ["Spread", "spread_of"]

_BATCH_COUNTS = (32, 23, 16, 11)
_LEAST_BATCH = 10  # requests in a batch of a replication
_MOST_CORRELATION = 0.9  # that is believed of a dozen batches
_TEST_QUANTILE = 0.8416  # of the normal distribution: a test at the 20 % level
# Measured: with 30 to 60 in truth, nominal 95 % limits of mean M/M/1 waits cover 86 to 93 %. The number
# is an estimate itself, too high where the limits are too narrow, so 200 are asked for.
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
        Batches in all; 0 where the replications themselves are the parts.
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
    """Correlation of neighbours in a run (R, k), 0 where negative: never a reason to claim more."""
    off = parts - parts.mean()
    square, n_pairs = float(np.sum(off**2)), off[:, 1:].size
    if square == 0 or n_pairs == 0:
        return 0.0
    lag = float(np.sum(off[:, 1:] * off[:, :-1])) / n_pairs * parts.size / square
    return float(min(max(lag, 0.0), _MOST_CORRELATION))


def _correlated(parts: Floats) -> bool:
    """Von Neumann's ratio of (R, k), normal if independent with mean 2, variance 4 (n - 2) / (n^2 - 1)."""
    off, n = parts - parts.mean(), parts.size
    square, steps = float(np.sum(off**2)), np.diff(parts, axis=1)
    if square == 0 or steps.size == 0:
        return False
    ratio = float(np.mean(steps**2)) * (n - 1) / square
    return bool((2 - ratio) / np.sqrt(4 * (n - 2) / (n**2 - 1)) > _TEST_QUANTILE)


def _cut(runs: list[Floats], k: int) -> Floats:
    """Means of ``k`` batches of each run (R, k), without a few requests at the starts.

    With unequal lengths they are linearised, as a ratio of sum to number.
    """
    sizes = np.array([len(run) // k for run in runs], dtype=float)[:, None]  # (R, 1)
    totals = np.array([run[len(run) % k :].reshape(k, -1).sum(axis=1) for run in runs])  # (R, k)
    mean = totals.sum() / (k * sizes.sum())
    parts: Floats = mean + (totals - mean * sizes) / sizes.mean()
    return parts


def _batches(runs: list[Floats], *, whole: bool) -> Floats:
    """Batch means (R, k): the most that pass, else the fewest; of several runs these are the runs."""
    shortest, alone = min(len(run) for run in runs), len(runs) == 1
    if alone and shortest < _BATCH_COUNTS[-1]:
        raise ConfigError(
            f"runs: one run of {shortest} values; give at least {_BATCH_COUNTS[-1]}, or several replications"
        )
    least = 1 if alone else _LEAST_BATCH
    for k in dict.fromkeys(n // len(runs) for n in _BATCH_COUNTS):
        if k < 2 or shortest < k * least or (whole and not alone):
            continue
        parts = _cut(runs, k)
        if not _correlated(parts):
            return parts
    return parts if alone else _cut(runs, 1)


def _doubts(n_effective: float, n_runs: int) -> tuple[str, ...]:
    if n_effective < _LEAST_EFFECTIVE:
        few = f"correlation leaves about {n_effective:.0f} independent requests"
        return (f"{few}, fewer than {_LEAST_EFFECTIVE:.0f}",)
    if n_runs > 1 and n_effective / n_runs < max(_LEAST_A_RUN, n_runs / 5):
        few = f"about {n_effective / n_runs:.0f} independent requests in each replication"
        return (f"{few}: its start still shows, make it longer",)
    return ()


def spread_of(runs: list[Floats], *, whole: bool = False) -> Spread:
    """Mean over all requests and its variance, from batches of one run or within several replications.

    With ``whole`` several replications are not cut: runs that start and end differ within, all alike.

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
    table, pool = _batches(runs, whole=whole), np.concatenate(runs)
    rest, k = _lag_one(table), table.size
    variance = float((1 + rest) / (1 - rest) * table.var(ddof=1) / k)
    n_effective = min(float(pool.var()) / variance, float(len(pool))) if variance > 0 else float(len(pool))
    return Spread(
        mean=float(pool.mean()),
        variance=variance,
        parts=table.ravel(),
        n_replications=len(runs),
        n_batches=k if table.shape[1] > 1 else 0,
        n_effective=n_effective,
        reasons=_doubts(n_effective, len(runs)),
    )
