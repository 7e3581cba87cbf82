"""Interval for a percentile of a latency: the values that a test of the share below them does not reject."""

from __future__ import annotations

import numpy as np

from qtheory.basics.errors import ConfigError

from ._runs import Floats, Runs, as_runs, check_level, t_quantile
from ._spread import Spread, spread_of
from .interval import Interval
from .mean import skewed_limits
from .share import LEAST_EVENTS

__all__ = ["estimate_percentile"]

_SECTIONS = 20  # at least, for the jackknife, unless there are
_ENOUGH_RUNS = 10  # replications, that tell their spread uncut
_LEAST_BEYOND = 3.0  # rule of three: with fewer, all values seen may well lie on one side of the truth


def _jackknife_high(runs: list[Floats], pool: Floats, whole: float, share: float, level: float) -> float:
    """Upper limit from the pseudo-values of sections, which are pieces of the replications.

    ``pool`` holds all values in order, and ``whole`` is their percentile.
    """
    n_pieces = 1 if len(runs) >= _ENOUGH_RUNS else -(-_SECTIONS // len(runs))
    sections = [piece for run in runs for piece in np.array_split(run, n_pieces)]
    b = len(sections)
    pseudo = b * whole - (b - 1) * np.array([_without(section, pool, share) for section in sections])  # (b,)
    variance = float(pseudo.var(ddof=1)) / b
    return skewed_limits(float(pseudo.mean()), variance, pseudo, level)[1]


def _without(section: Floats, pool: Floats, share: float) -> float:
    """The percentile of the pool without one section, to the bit as ``np.quantile`` has it, not copied."""
    own = np.sort(section)
    ahead = np.searchsorted(pool, own) - np.searchsorted(own, own)  # (k,) others below each of the section
    last = len(pool) - len(own) - 1
    place = share * last
    below = int(place)
    low, high = (
        float(pool[rank + np.searchsorted(ahead, rank, side="right")])
        for rank in (below, min(below + 1, last))
    )
    weight = place - below
    if weight >= 0.5:
        return high - (high - low) * (1 - weight)
    return low + (high - low) * weight


def _stands_behind(series: list[Floats], estimate: float, tail: float) -> Spread:
    """What tells how far a share near ``estimate`` wanders: the share itself, or all of the latency.

    The number of stretches beyond a far percentile is known worse than that of stretches at all, and comes
    out too high where the tail comes out too short. So where there are few of them, the correlation of the
    latency is an upper bound to theirs.
    """
    own = spread_of([(run <= estimate).astype(float) for run in series])
    if own.n_effective * tail >= LEAST_EVENTS:
        return own
    whole = spread_of(series)
    return min(own, whole, key=lambda one: one.n_effective)


def estimate_percentile(runs: Runs, q: float, *, level: float = 0.95) -> Interval:
    r"""Percentile over all requests of all runs: the values that a test of the share below them lets stand.

    With :math:`p = q/100`, a value is rejected as the percentile if the share of requests up to it differs
    from :math:`p` by more than :math:`t \sqrt{p (1 - p) / n_e}` [1]_, [2]_: the limits are the sample's
    percentiles at these two shares. The spread is that under the value tested, as in Wilson's interval;
    limits from the spread seen are too low, for a run without a long stretch beyond the percentile shows both
    a low percentile and little spread. The effective number :math:`n_e` is that of the share, or where fewer
    than 20 independent stretches of requests lie beyond the percentile, that of the latency if it is smaller.

    Where the upper share is above 1 the limit is the largest value seen. Where fewer than 3 independent
    stretches lie beyond the percentile all values seen may lie below it (rule of three); then the upper limit
    of jackknifed sections [3]_ (20 or more pieces of the runs, or 10 or more runs) is taken if it is higher.
    The estimate pools all runs: a mean of the percentiles of short runs would be biased.

    Measured on the p99 of M/M/1 waits in 5 runs, nominal 95 % limits held the truth in 95 to 97 % of 300
    studies at loads 0.5 and 0.8 (20,000 and 50,000 requests in all), and at 0.95 in 99 and 96 % of 150 with
    100,000 and 200,000 requests, where nearly all are flagged.

    Parameters
    ----------
    runs : array_like of float
        One series in order of arrival, at least 20 values, or one series a replication; any unit.
    q : float
        In (0, 100), such as 99 or 99.9.
    level : float
        In (0, 1).

    Returns
    -------
    Interval
        Not reliable if fewer than 200 effectively independent requests stand behind it, or fewer than 3
        independent stretches of requests lie beyond it.

    Raises
    ------
    ConfigError
        If a value is not finite, ``q`` or ``level`` is out of range, or the series is too short.

    References
    ----------
    .. [1] Woodruff (1952), "Confidence intervals for medians and other position measures", JASA 47, 635-646.
    .. [2] Francisco and Fuller (1991), "Quantile estimation with a complex survey design", Annals of
       Statistics 19, 454-469 (limits by test inversion under dependence).
    .. [3] Asmussen and Glynn (2007), "Stochastic Simulation", section III.5 (sectioning, jackknife).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> print(estimate_percentile(rng.exponential(size=20_000), 99))  # truth: 4.605
    4.586 (4.448 to 4.788 at 95 %)
    """
    check_level(level)
    if not 0 < q < 100:
        raise ConfigError(f"q: {q} must lie between 0 and 100")
    series = as_runs("runs", runs)
    pool = np.sort(np.concatenate(series))
    if len(pool) < _SECTIONS:
        raise ConfigError(f"runs: {len(pool)} values; a percentile needs at least {_SECTIONS}")
    share, last = q / 100, len(pool) - 1
    estimate = float(np.quantile(pool, share))
    spread = _stands_behind(series, estimate, min(share, 1 - share))
    half = t_quantile(level, len(spread.parts) - 1) * np.sqrt(share * (1 - share) / spread.n_effective)
    low = float(pool[max(int(np.floor((share - half) * last)), 0)])
    high = float(pool[min(int(np.ceil((share + half) * last)), last)])
    n_beyond, reasons = spread.n_effective * min(share, 1 - share), spread.reasons
    if n_beyond < _LEAST_BEYOND:
        high = max(high, _jackknife_high(series, pool, estimate, share, level))
        few = f"requests beyond it come in about {n_beyond:.1f} independent stretches"
        reasons = (*reasons, f"{few}, fewer than {_LEAST_BEYOND:.0f}")
    return Interval(
        estimate=estimate,
        low=min(low, estimate),
        high=max(high, estimate),
        level=level,
        method="test inversion" + (", batches" if spread.n_batches else ", replications"),
        n_replications=spread.n_replications,
        n_batches=spread.n_batches,
        n_effective=spread.n_effective,
        reliable=not reasons,
        reason="; ".join(reasons),
    )
