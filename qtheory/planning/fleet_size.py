"""How many replicas: the fewest of one kind that carry a rate within its limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ConvergenceError, UnstableError

from .fleet_curve import Curve
from .fleet_doubt import Doubt

__all__ = ["Fleet", "Need", "OutOfReachError", "fleet_of", "good_at", "replicas_for"]

_ROUNDS = 4
_MOST_REPLICAS = 1_000_000


class OutOfReachError(ConfigError):
    """No number of replicas has enough good requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What a fleet must do.

    Parameters
    ----------
    rate_rps : float
        Requests per second of the fleet at its busiest, > 0.
    goodput_frac : float
        Share of all requests that has to be good, in (0, 1).
    headroom_frac : float
        By how much more the rate may grow, >= 0.
    spare : int
        Replicas that may be away, >= 0.
    miss_prob : float
        Largest probability, in (0, 1], of missing the share because predictions err; 1 does not ask.

    Raises
    ------
    ConfigError
        If a number is out of its range.

    Examples
    --------
    >>> Need(rate_rps=10.0, headroom_frac=0.2).sized_rps
    12.0
    """

    rate_rps: float
    goodput_frac: float = 0.9
    headroom_frac: float = 0.0
    spare: int = 0
    miss_prob: float = 1.0

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps)
        checks.inner_fraction(goodput_frac=self.goodput_frac)
        checks.fraction(miss_prob=self.miss_prob)
        checks.non_negative(headroom_frac=self.headroom_frac)
        checks.at_least(0, spare=self.spare)

    @property
    def sized_rps(self) -> float:
        """The rate that the replicas besides the spare ones must carry."""
        return self.rate_rps * (1 + self.headroom_frac)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Equal replicas, as many as are needed.

    Parameters
    ----------
    n_replicas : int
        With the spare ones.
    n_needed : int
        Without them.
    curve : Curve
        Of one replica, with its share of the arrivals.
    doubt : Doubt
        Of the curve.
    point : mapping
        Goodput and latencies of one replica at its share of the rate.

    Examples
    --------
    >>> curve = Curve(answered_by="simulation", knee_rps=4.0, limit_rps=5.0, at=lambda rate: {})
    >>> Fleet(n_replicas=3, n_needed=3, curve=curve, doubt=Doubt(), point={}).headroom_frac(10.0)
    0.2
    """

    n_replicas: int
    n_needed: int
    curve: Curve
    doubt: Doubt
    point: Mapping[str, Any]

    @property
    def knee_rps(self) -> float:
        """Rate that one replica holds within the limits."""
        return self.curve.knee_rps or 0.0

    def headroom_frac(self, rate_rps: float) -> float:
        """By how much a rate of the fleet may grow until it is at the knee."""
        return round(self.n_replicas * self.knee_rps / rate_rps - 1, 12)

    def miss_prob(self, rate_rps: float, *, away: int = 0) -> float:
        """Probability that the share of good requests is missed because predictions err."""
        left = self.n_replicas - away
        return 1.0 if left < 1 else self.doubt.miss_prob(rate_rps / left, self.knee_rps)


def replicas_for(rate_rps: float, knee_rps: float, doubt: Doubt, miss_prob: float = 1.0) -> int:
    """Fewest replicas with this knee for a rate.

    Parameters
    ----------
    rate_rps, knee_rps : float
        Of the fleet, and of one replica, > 0.
    doubt : Doubt
        Of the knee.
    miss_prob : float
        As in `Need`.

    Raises
    ------
    ConfigError
        If a number is out of its range, or more than a million replicas would be needed.

    Examples
    --------
    >>> replicas_for(10.0, 5.0, Doubt()), replicas_for(10.0, 5.0, Doubt(model_frac=0.1), 0.05)
    (2, 3)
    """
    checks.positive(rate_rps=rate_rps, knee_rps=knee_rps)
    checks.fraction(miss_prob=miss_prob)
    if rate_rps / knee_rps > _MOST_REPLICAS:
        raise ConfigError(f"rate_rps: {rate_rps:g} needs more than {_MOST_REPLICAS:,} replicas of this kind")
    n = max(1, math.ceil(rate_rps / knee_rps * (1 - 1e-9)))
    while miss_prob < 1 and doubt.miss_prob(rate_rps / n, knee_rps) > miss_prob:
        n += max(1, n // 200)
    return n


def good_at(curve: Curve, rate_rps: float) -> float | None:
    """Share of good requests at a rate; 0 above the stability limit, None where there is no answer.

    Parameters
    ----------
    curve : Curve
    rate_rps : float
        Of one replica, > 0.

    Examples
    --------
    >>> good_at(Curve(answered_by="simulation", knee_rps=4.0, at=lambda rate: {"goodput_frac": 0.8}), 6.0)
    0.8
    """
    try:
        return float(curve.at(rate_rps)["goodput_frac"])
    except UnstableError:
        return 0.0
    except (ConfigError, ConvergenceError):
        return 0.0 if curve.limit_rps is not None and rate_rps >= curve.limit_rps else None


def fleet_of(
    need: Need, curve_of: Callable[[int], Curve], doubt_of: Callable[[Curve], Doubt], *, first: int = 1
) -> Fleet:
    """The smallest fleet of one kind of replica.

    What comes to a replica depends on how many there are, so the number is found in turns; it never shrinks
    again, and so is not too small. Goodput is asked at the share itself, and a replica added where it does
    not do, such as where goodput is no falling function of the rate.

    Parameters
    ----------
    need : Need
    curve_of : callable (int) -> Curve
        Of one replica of so many.
    doubt_of : callable (Curve) -> Doubt
    first : int
        Replicas to begin with, >= 1.

    Raises
    ------
    OutOfReachError
        If no rate has enough good requests, or no number of replicas does.

    Examples
    --------
    >>> curve = Curve(answered_by="simulation", knee_rps=4.0, at=lambda rate: {"goodput_frac": 1 - rate / 40})
    >>> fleet_of(Need(rate_rps=10.0, spare=1), lambda n: curve, lambda curve: Doubt()).n_replicas
    4
    """
    n = first
    for turn in range(_ROUNDS):
        curve = curve_of(n)
        if curve.knee_rps is None:
            raise OutOfReachError(_never(need, curve))
        wanted = replicas_for(need.sized_rps, curve.knee_rps, doubt_of(curve), need.miss_prob)
        if wanted == n or (turn > 1 and wanted < n):
            break
        n = wanted
    point = curve.at(need.sized_rps / n)
    while float(point["goodput_frac"]) < need.goodput_frac:
        n += max(1, n // 50)
        if n > 2 * wanted + 8:
            raise ConfigError(
                f"rate_rps: no number of replicas has {need.goodput_frac:.4g} good; simulate it"
            )
        curve = curve_of(n)
        point = curve.at(need.sized_rps / n)
    total = n + need.spare
    if total != n or need.headroom_frac:
        point = curve.at(need.rate_rps / total)
    return Fleet(n_replicas=total, n_needed=n, curve=curve, doubt=doubt_of(curve), point=point)


def _never(need: Need, curve: Curve) -> str:
    misses = "" if curve.fails is None else f"; most miss {curve.fails}"
    return f"fewer than {100 * need.goodput_frac:.4g} % are good at any rate{misses}"
