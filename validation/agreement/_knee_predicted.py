"""Where a tier of the theory sees the share of good requests fall through 90 %."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from qtheory.basics.errors import ServingError
from qtheory.predict import MODELLED_SCHEDULERS, TIERS, predict

from ._knee_simulated import GOOD_FRAC, LOADS
from ._simulate import Asked

__all__ = ["predicted_knees"]

Good = Callable[[float], float | None]
Seen = tuple[float, float]  # a rate, and how bad it is there

_FIRST_STEP, _MOST_STEP = 0.03, 0.3
_CLOSE, _STRAIGHT, _THERE = 0.03, 1.0, 0.03  # a bracket to interpolate in: relative width, height; or so near
_TRIES = 14
_LEAST_BAD = 1e-9


def predicted_knees(question: Asked, overload_rps: float) -> dict[str, float]:
    """Knee by each tier that answers; 0 where even at small loads fewer than 90 % are good."""
    found: dict[str, float] = {}
    if question.replica.scheduler.name in MODELLED_SCHEDULERS:
        for tier in sorted(TIERS):  # the formulas first: they say where the chain is to look
            knee = _knee(question, tier, overload_rps, found.get("closed"))
            if knee is not None:
                found[tier] = knee
    return found


def _knee(question: Asked, tier: str, overload_rps: float, near: float | None) -> float | None:
    """Largest rate with enough good requests; 0 if there is none; None if the tier refuses there."""

    def good(rate_rps: float) -> float | None:
        try:
            point = predict(question.replica, question.workload, rate_rps=rate_rps, tier=tier)
        except ServingError as error:
            return 0.0 if "limit" in str(error) and "no model" not in str(error) else None
        return point.goodput_frac

    found = _around(good, near) if near else None
    return _from_below(good, overload_rps * LOADS[::4]) if found is None else found


def _around(good: Good, start: float) -> float | None:
    """The knee in the neighbourhood of a rate; None if it is not there."""
    rate, step, share = start, _FIRST_STEP, good(start)
    while share is not None and step < _MOST_STEP:
        other = rate * (1 + step) if share >= GOOD_FRAC else rate / (1 + step)
        there = good(other)
        if there is not None and (there >= GOOD_FRAC) != (share >= GOOD_FRAC):
            ends = sorted([(rate, _badness(share)), (other, _badness(there))])
            return _between(good, ends[0], ends[1])
        rate, share, step = other, there, 2 * step
    return None


def _from_below(good: Good, rates: np.ndarray) -> float | None:
    """The first knee on a ladder of rates."""
    last: Seen | None = None
    for rate in map(float, rates):
        share = good(rate)
        if share is None:
            return None if last is None else _below_refusals(good, last, rate)
        if share >= GOOD_FRAC:
            last = rate, _badness(share)
        elif last is not None:
            return _between(good, last, (rate, _badness(share)))
    return 0.0 if last is None else None


def _below_refusals(good: Good, low: Seen, high: float) -> float | None:
    """The knee below rates of which the tier says nothing, if it lies there."""
    for rate in np.linspace(high, low[0], 5)[1:-1].tolist():
        share = good(rate)
        if share is not None:
            return None if share >= GOOD_FRAC else _between(good, low, (rate, _badness(share)))
    return None


def _badness(share: float) -> float:
    """Logarithm of bad over allowed: 0 at the knee, and nearly straight in the logarithm of the rate."""
    return math.log(max(1 - share, _LEAST_BAD) / (1 - GOOD_FRAC))


def _between(good: Good, low: Seen, high: Seen) -> float | None:
    """Secants that keep a bracket (Illinois rule), until what is left may be interpolated."""
    weight_low = weight_high = 1.0
    for _ in range(_TRIES):
        if high[0] <= (1 + _CLOSE) * low[0] and high[1] - low[1] <= _STRAIGHT:
            break
        rate = _zero((low[0], weight_low * low[1]), (high[0], weight_high * high[1]))
        share = good(rate)
        if share is None:
            return None
        bad = _badness(share)
        if abs(bad) <= _THERE:
            return rate
        if bad <= 0:
            low, weight_low, weight_high = (rate, bad), 1.0, weight_high / 2
        else:
            high, weight_high, weight_low = (rate, bad), 1.0, weight_low / 2
    return _zero(low, high)


def _zero(low: Seen, high: Seen) -> float:
    share = -low[1] / (high[1] - low[1])
    return float(low[0] * (high[0] / low[0]) ** min(max(share, 0.02), 0.98))
