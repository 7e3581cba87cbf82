"""How often intervals held a knee, in a line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

from scipy.special import betaincinv

from validation._located import Located

from .kept_answers import Row

__all__ = ["HEADING", "Studied", "binomial_interval", "line"]

HEADING = (
    "case       truth (req/s)      to    held         95 % of that  half-width  mean error        "
    "requests  bisection  ratio  CPU s\n"
    "Intervals are of 95 %; requests and CPU seconds of a study are medians."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Studied:
    """Studies of one case at one precision.

    Parameters
    ----------
    case : str
    precision : float
    truth : Located
    found : sequence of dict
        A study each: ``rate_rps``, ``low_rps``, ``high_rps``, ``n_requests``, ``cpu_s``.
    plain : sequence of dict
        Bisections: ``n_requests``.
    n_long : int
        Runs behind the truth; 0 where it is solved.
    """

    case: str
    precision: float
    truth: Located
    found: Sequence[Row]
    plain: Sequence[Row]
    n_long: int


def binomial_interval(n_held: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Interval of a probability from how often it happened: Clopper and Pearson (1934), Biometrika 26, 404.

    Parameters
    ----------
    n_held, n : int
    level : float
        In (0, 1).

    Examples
    --------
    >>> [round(float(end), 3) for end in binomial_interval(95, 100)]
    [0.887, 0.984]
    """
    half = (1 - level) / 2
    low = 0.0 if n_held == 0 else float(betaincinv(n_held, n - n_held + 1, half))
    high = 1.0 if n_held == n else float(betaincinv(n_held + 1, n - n_held, 1 - half))
    return low, high


def line(one: Studied) -> str:
    """The line of a case at a precision."""
    truth = one.truth.rate_rps
    n_held = sum((row["low_rps"] or 0.0) <= truth <= (row["high_rps"] or 0.0) for row in one.found)
    low, high = binomial_interval(n_held, len(one.found))
    half = median(((row["high_rps"] or 0.0) - (row["low_rps"] or 0.0)) / 2 / truth for row in one.found)
    off = [math.log(row["rate_rps"] / truth) for row in one.found if row["rate_rps"]]
    error = f"{100 * fmean(off):+.2f} ±{100 * 1.96 * stdev(off) / math.sqrt(len(off)):.2f} %"
    spent, plain = (median(row["n_requests"] for row in rows) for rows in (one.found, one.plain))
    known = f"{truth:.4g} ±{100 * one.truth.half_frac:.2f} %" if one.n_long else f"{truth:.4g} (solved)"
    held = f"{n_held} of {len(one.found)}"
    return (
        f"{one.case:<9}  {known:<16}  {100 * one.precision:>3g} %  {held:<11}  {low:.3f} to {high:.3f}"
        f"  {100 * half:>8.2f} %  {error:<16}  {spent:>8,.0f}  {plain:>9,.0f}  {plain / spent:>5.1f}"
        f"  {median(row['cpu_s'] for row in one.found):>5.2f}"
    )
