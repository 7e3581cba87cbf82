"""One queue at several arrival rates, those without a steady state among them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, UnstableError

from .answer import answer
from .front import NamedQueue
from .search import stability_limit

__all__ = ["over_rates", "rate_range"]

_LEAST, _MOST = 0.05, 0.98  # of the stability limit
_MOST_POINTS = 1000


def rate_range(
    asked: NamedQueue, *, min_rate: float | None, max_rate: float | None, points: int
) -> list[float]:
    """Rates in equal steps; without limits from 5 % to 98 % of the stability limit.

    Parameters
    ----------
    asked : NamedQueue
    min_rate, max_rate : float or None
        Requests per second, > 0.
    points : int
        How many, 2 .. 1000.

    Raises
    ------
    ConfigError
        If the numbers make no range, or there is no stability limit to choose one from.

    Examples
    --------
    >>> asked = NamedQueue(name="M/M/1", given={"service_rate_rps": 1.0})
    >>> rate_range(asked, min_rate=None, max_rate=0.95, points=3)
    [0.05, 0.5, 0.95]
    """
    checks.at_least(2, points=points)
    if points > _MOST_POINTS:
        raise ConfigError(f"points: {points} is too many; at most {_MOST_POINTS}")
    for name, rate in (("min_rate", min_rate), ("max_rate", max_rate)):
        if rate is not None:
            checks.positive(**{name: rate})
    limit = stability_limit(asked) if min_rate is None or max_rate is None else None
    if max_rate is None and limit is None:
        raise ConfigError(f"max_rate: missing; {asked.title} has a steady state at any rate")
    high = _MOST * (limit or 0.0) if max_rate is None else max_rate
    low = _LEAST * (limit or high) if min_rate is None else min_rate
    if low >= high:
        raise ConfigError(f"max_rate: {high:g} must lie above min_rate {low:g}")
    step = (high - low) / (points - 1)
    return [_rounded(low + step * index) for index in range(points)]


def _rounded(rate: float) -> float:
    """The rate to twelve digits, so that 0.05 is not 0.05000000000000001."""
    return round(rate, 11 - math.floor(math.log10(rate)))


def over_rates(
    asked: NamedQueue, rates: Sequence[float], *, percentiles: Sequence[float] = (50, 90, 99)
) -> list[dict[str, Any]]:
    """A row of answers for each rate.

    Parameters
    ----------
    asked : NamedQueue
        A rate that is given is not used; rates of classes keep their shares.
    rates : sequence of float
        Requests per second, > 0, of all classes together.
    percentiles : sequence of float
        Levels in per cent.

    Returns
    -------
    list of dict
        As `QueueAnswer.row`; where there is no steady state under ``unstable`` what would make one.

    Raises
    ------
    ConfigError
        If a parameter is wrong.

    Examples
    --------
    >>> asked = NamedQueue(name="M/M/1", given={"service_rate_rps": 1.0})
    >>> first, second = over_rates(asked, [0.5, 1.5])
    >>> first["mean_response_s"], second["unstable"].partition(",")[0]
    (2.0, 'rate_rps=1.5 is not below 1')
    """
    rows = []
    for rate in rates:
        one = asked.with_rate(rate)
        try:
            row = answer(one).row(percentiles)
        except UnstableError as error:
            row = {"model": one.title, **one.said(), "unstable": str(error)}
        rows.append(row | {"rate_rps": rate})
    return rows
