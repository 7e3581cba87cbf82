"""The knee of any function of the rate, from a rate to begin with: doubled, halved, closed in on."""

from __future__ import annotations

import math
from collections.abc import Callable

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from .search import Search

__all__ = ["find_knee"]

_MOST_DOUBLINGS = 40


def find_knee(
    goodput: Callable[[float], float],
    *,
    goodput_frac: float = 0.9,
    start_rps: float = 1.0,
    limit_rps: float = math.inf,
    rtol: float = 1e-3,
) -> float | None:
    """Largest rate at which a function of the rate is at least ``goodput_frac``.

    Works on any function: a formula, a chain, a simulation with fixed random numbers. From ``start_rps`` the
    rate is doubled until goodput is below the level, halved until it is not; then the crossing is closed in
    on. Where a function is not monotone at low rates, the last crossing is the one that counts.

    Parameters
    ----------
    goodput : callable (float) -> float
        Share of good requests at a rate, in 0..1; it may raise as in `Search`.
    goodput_frac : float
        The level, in (0, 1).
    start_rps : float
        Where to begin, requests per second, > 0.
    limit_rps : float
        Stability limit, if it is known.
    rtol : float
        Relative error of the rate.

    Returns
    -------
    float or None
        Requests per second; None if goodput is below the level at every rate that was tried.

    Raises
    ------
    ConfigError
        If a number is out of its range, or no rate is high enough to be too high.
    ConvergenceError
        If the function has no answer where the knee is.

    Examples
    --------
    >>> print(f"{find_knee(lambda rate: min(1.0, 2 - rate / 8)):.3f}")
    8.800
    """
    checks.inner_fraction(goodput_frac=goodput_frac)
    checks.positive(start_rps=start_rps, limit_rps=min(limit_rps, 1e300))
    search = Search(goodput, limit_rps=limit_rps)
    rate = start_rps if start_rps < limit_rps else limit_rps / 2
    tried = [rate]
    good = [value for value in (search.at(rate),) if value is not None]
    while rate < limit_rps and not any(value < goodput_frac for value in good):
        rate *= 2
        tried.append(rate)
        _check_number(tried, "no rate is too high", goodput_frac)
        good += [value for value in (search.at(rate),) if value is not None]
    rate = min(tried)
    while not any(value >= goodput_frac for value in search.known.values()):
        rate /= 2
        if len(tried) > _MOST_DOUBLINGS:
            return None
        tried.append(rate)
        search.at(rate)
    return search.crossing(goodput_frac, rtol=rtol, most=60)


def _check_number(tried: list[float], what: str, level: float) -> None:
    if len(tried) > _MOST_DOUBLINGS:
        raise ConfigError(
            f"goodput_frac: {level:g} is reached up to {max(tried):.4g} req/s: {what}; give tighter limits"
        )
