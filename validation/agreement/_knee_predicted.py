"""Where a tier of the theory sees the share of good requests fall through 90 %."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from qtheory.basics.errors import ServingError, UnstableError
from qtheory.predict import MODELLED_SCHEDULERS, TIERS, predict

from ._knee_simulated import GOOD_FRAC, LOADS
from ._simulate import Asked

__all__ = ["predicted_knees"]

Good = Callable[[float], float | None]
Seen = tuple[float, float]  # a rate, and how bad it is there

_PAST, _MOST_STEP = 0.012, 0.35  # in the logarithm of the rate: a step goes a little beyond where it aims
_SLOPE, _LEAST_SLOPE, _MOST_SLOPE = 8.0, 1.0, 60.0  # of the badness; the first where the formulas have none
_CLOSE, _STRAIGHT = 0.03, 1.5  # a bracket to interpolate in: its width, and what the badness may rise in it
_NARROW, _THERE = 0.004, 0.03  # or one this narrow, or a rate this near
_TRIES, _STEPS, _FALLING = 14, 6, 4
_LEAST_BAD = 1e-3


def predicted_knees(question: Asked, overload_rps: float) -> dict[str, float]:
    """Knee by each tier that answers; 0 where even at small loads fewer than 90 % are good."""
    found: dict[str, float] = {}
    if question.replica.scheduler.name in MODELLED_SCHEDULERS:
        for tier in sorted(TIERS):  # the formulas first: they say where the chain is to look
            good = _good(question, tier)
            knee = _around(good, *start) if (start := _start(question, found)) else None
            if knee is None:
                knee = _from_below(good, overload_rps * LOADS[::4])
            if knee is not None:
                found[tier] = knee
    return found


def _good(question: Asked, tier: str) -> Good:
    """Share of good requests at a rate, none above the limit; None if the tier refuses."""

    def good(rate_rps: float) -> float | None:
        try:
            point = predict(question.replica, question.workload, rate_rps=rate_rps, tier=tier)
        except UnstableError:
            return 0.0
        except ServingError:
            return None
        return point.goodput_frac

    return good


def _start(question: Asked, found: dict[str, float]) -> tuple[float, float] | None:
    """The knee of the formulas and their slope there."""
    knee = found.get("closed")
    if not knee:
        return None
    good = _good(question, "closed")
    below, above = (good(knee * math.exp(sign * _PAST)) for sign in (-1, 1))
    if below is None or above is None:
        return knee, _SLOPE
    return knee, _limited((_badness(above) - _badness(below)) / (2 * _PAST))


def _limited(slope: float) -> float:
    return min(max(slope, _LEAST_SLOPE), _MOST_SLOPE)


def _around(good: Good, start: float, slope: float) -> float | None:
    """The knee by steps of Newton from a rate that is near it; None if it is not there."""
    share = good(start)
    if share is None:
        return None
    here = start, _badness(share)
    for _ in range(_STEPS):
        aim = -here[1] / slope
        step = min(max(aim + math.copysign(_PAST, aim), -_MOST_STEP), _MOST_STEP)
        rate = here[0] * math.exp(step)
        share = good(rate)
        if share is None:
            return None
        there = rate, _badness(share)
        if (there[1] <= 0) != (here[1] <= 0):
            return _between(good, min(here, there), max(here, there))
        slope = _limited((there[1] - here[1]) / step)
        here = there
    return None


def _from_below(good: Good, rates: np.ndarray) -> float | None:
    """The first knee on a ladder of rates; 0 too if the share is low and falls from the least rates on."""
    last: Seen | None = None
    low: list[float] = []
    for rate in map(float, rates):
        share = good(rate)
        if share is None:
            return None if last is None else _below_refusals(good, last, rate)
        if share >= GOOD_FRAC:
            last = rate, _badness(share)
        elif last is not None:
            return _between(good, last, (rate, _badness(share)))
        else:
            low.append(share)
            if len(low) >= _FALLING and low == sorted(low, reverse=True):
                return 0.0
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
    weights, moved = [1.0, 1.0], -1
    for _ in range(_TRIES):
        width = high[0] / low[0] - 1
        if width <= _NARROW or (width <= _CLOSE and high[1] - low[1] <= _STRAIGHT):
            break
        rate = _zero((low[0], weights[0] * low[1]), (high[0], weights[1] * high[1]))
        share = good(rate)
        if share is None:
            return None
        bad = _badness(share)
        if abs(bad) <= _THERE:
            return rate
        end = 0 if bad < 0 else 1
        low, high = ((rate, bad), high) if end == 0 else (low, (rate, bad))
        weights[end] = 1.0
        if end == moved:
            weights[1 - end] /= 2
        moved = end
    return _zero(low, high)


def _zero(low: Seen, high: Seen) -> float:
    share = -low[1] / (high[1] - low[1])
    return float(low[0] * (high[0] / low[0]) ** min(max(share, 0.02), 0.98))
