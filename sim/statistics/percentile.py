"""Interval for a percentile of a latency, by inversion of a share and by jackknifed sections."""

from __future__ import annotations

import numpy as np

from qtheory.basics.errors import ConfigError

from ._runs import Floats, Runs, as_runs, check_level
from ._spread import spread_of
from .interval import Interval
from .mean import skewed_limits
from .share import LEAST_EVENTS, wilson_limits

__all__ = ["estimate_percentile"]

_SECTIONS = 20  # that one run is cut into for the jackknife


def _jackknife_high(runs: list[Floats], share: float, level: float) -> float:
    """Upper limit from the pseudo-values of the sections: replications, or pieces of one run."""
    sections = runs if len(runs) > 1 else np.array_split(runs[0], _SECTIONS)
    b, pool = len(sections), np.concatenate(sections)
    order = np.argsort(pool, kind="stable")
    origin = np.repeat(np.arange(b), [len(part) for part in sections])[order]  # (n,) section of a value
    ordered = pool[order]
    whole = float(np.quantile(ordered, share))
    left_out = np.array([float(np.quantile(ordered[origin != j], share)) for j in range(b)])  # (b,)
    pseudo = b * whole - (b - 1) * left_out
    variance = float(pseudo.var(ddof=1)) / b
    return skewed_limits(float(pseudo.mean()), variance, pseudo, level)[1]


def estimate_percentile(runs: Runs, q: float, *, level: float = 0.95) -> Interval:
    r"""Percentile over all requests of all runs, with limits from inversion and from jackknifed sections.

    *Inversion* [1]_: the share of requests up to the estimate has Wilson's limits around :math:`q/100`, from
    batches or replications; the order statistics at these shares bound the percentile. It cannot reach beyond
    the sample. *Jackknifed sectioning* [2]_, [3]_: with :math:`b` sections (the replications, or 20 pieces of
    one run), the percentile :math:`Q` of all and :math:`Q_{(-j)}` without section :math:`j`, the
    pseudo-values :math:`b Q - (b - 1) Q_{(-j)}` are free of the bias of order :math:`1/n` and get a
    skewness-adjusted t-interval. It reaches beyond the sample, and fails below. So the lower limit is that of
    inversion, and the upper limit the higher one of both. The estimate pools all runs: a mean of the
    percentiles of short runs would be biased.

    Measured on the p90 and p99 of M/M/1 and M/G/1 waits with 50,000 requests, nominal 95 % limits hold the
    truth in 93 to 97 % of 1,000 studies at loads 0.5 and 0.8. At 0.95 a few long stretches hold all values
    beyond the p99: the limits cover 80 to 91 %, and are flagged.

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
        Not reliable if the requests beyond the percentile come in fewer than 20 independent stretches, if
        fewer than 200 effectively independent requests stand behind it, or if an end lies beyond the sample.

    Raises
    ------
    ConfigError
        If a value is not finite, ``q`` or ``level`` is out of range, or the series is too short.

    References
    ----------
    .. [1] Woodruff (1952), "Confidence intervals for medians and other position measures", JASA 47, 635-646.
    .. [2] Asmussen and Glynn (2007), "Stochastic Simulation", section III.5 (sectioning, jackknife).
    .. [3] Nakayama (2014), "Confidence intervals for quantiles using sectioning when applying
       variance-reduction techniques", ACM TOMACS 24 (4), 19.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> print(estimate_percentile(rng.exponential(size=20_000), 99))  # truth: 4.605
    4.586 (4.438 to 4.778 at 95 %)
    """
    check_level(level)
    if not 0 < q < 100:
        raise ConfigError(f"q: {q} must lie between 0 and 100")
    series = as_runs("runs", runs)
    pool = np.sort(np.concatenate(series))
    if len(pool) < _SECTIONS:
        raise ConfigError(f"runs: {len(pool)} values; a percentile needs at least {_SECTIONS}")
    share, n = q / 100, len(pool)
    estimate = float(np.quantile(pool, share))
    spread = spread_of([(run <= estimate).astype(float) for run in series])
    share_low, share_high = wilson_limits(share, spread, spread.n_effective, level)
    high = max(float(pool[int(np.ceil(share_high * (n - 1)))]), _jackknife_high(series, share, level))
    n_events, reasons = spread.n_effective * min(share, 1 - share), spread.reasons
    if n_events < LEAST_EVENTS:
        few = f"requests beyond it come in about {n_events:.0f} independent stretches"
        reasons = (*reasons, f"{few}, fewer than {LEAST_EVENTS:.0f}")
    if (1 - share_high) * n < 1 or share_low * n < 1:
        reasons = (*reasons, "an end may lie beyond all values seen")
    return Interval(
        estimate=estimate,
        low=min(float(pool[int(np.floor(share_low * (n - 1)))]), estimate),
        high=max(high, estimate),
        level=level,
        method="inversion and jackknife" + (", batches" if spread.n_batches else ", replications"),
        n_replications=spread.n_replications,
        n_batches=spread.n_batches,
        n_effective=spread.n_effective,
        reliable=not reasons,
        reason="; ".join(reasons),
    )
