"""Steady states by rank: what the k-th best request of a hundred meets, at each rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qtheory.system.slo import Slo

from ._crowd import Crowd
from .prediction import Prediction

__all__ = ["LEVELS", "WEIGHTS", "Met", "Ranks"]

Floats = NDArray[np.float64]

_EDGES = np.concatenate([np.linspace(0.0, 0.9, 61), 1 - np.geomspace(0.1, 1e-4, 41)[1:], [1.0]])
LEVELS: Floats = (_EDGES[1:] + _EDGES[:-1]) / 2
"""Ranks (q,) that stand for all requests that come at a time."""
WEIGHTS: Floats = np.diff(_EDGES)
"""Their shares (q,)."""
_BEYOND = (0.96, 0.97, 0.98, 0.99, 0.995)


def _times_at_levels(point: Prediction, name: str, limit_s: float | None, within: float | None) -> Floats:
    """Times (q,) at the ranks, through the percentiles and the share within a limit.

    Linear in the logarithm of what is above, which an exponential tail is; below the first of them such that
    the mean comes out.
    """
    known = {level / 100: getattr(point, f"p{level}_{name}_s") for level in (50, 90, 95, 99)}
    if limit_s is not None and within is not None and 0.03 < within < 0.999:
        known[within] = limit_s
    shares = np.array(sorted(known))
    times = np.maximum.accumulate([known[share] for share in shares])
    place, ends = -np.log1p(-LEVELS), -np.log1p(-shares)
    slope = max((times[-1] - times[-3]) / (ends[-1] - ends[-3]), 0.0)
    found = np.interp(place, ends, times) + slope * np.maximum(place - ends[-1], 0.0)
    below = place < ends[0]
    part = place[below] / ends[0]
    rest = getattr(point, f"mean_{name}_s") - float(found[~below] @ WEIGHTS[~below])
    weights = WEIGHTS[below]
    least = (rest - times[0] * float(part @ weights)) / float((1 - part) @ weights)
    found[below] = np.clip(least, 0.0, times[0]) * (1 - part) + times[0] * part
    return np.asarray(found)


@dataclass(frozen=True, kw_only=True, eq=False)
class Met:
    """What requests meet at moments (t,): times at the ranks (t, q), and shares and numbers (t,)."""

    ttft_s: Floats
    mean_ttft_s: Floats
    goodput_frac: Floats
    waiting: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Ranks:
    """A curve of steady states, and the crowd that goes with each.

    In a steady state the number in system at a rank belongs to one rate; whoever finds that number at that
    rank later on, while rates change, is told what that steady state says at that rank. So a rate that
    changes slowly has the steady states one after the other. Beyond the last of them there is the time on
    top that the limit takes for the further number. Without a crowd the rate itself takes its place.
    """

    points: Sequence[Prediction]
    slo: Slo
    crowd: Crowd | None
    full_good_frac: float | None = None  # of those in time with their first token, in overload

    @cached_property
    def _rates(self) -> Floats:
        return np.array([one.rate_rps for one in self.points])

    @cached_property
    def _keys(self) -> Floats:
        """Number in system (k, q) in the steady states, or the rates."""
        if self.crowd is None:
            return np.repeat(self._rates[:, None], len(LEVELS), axis=1)
        return np.array([self.crowd.steady(rate).at_levels(LEVELS) for rate in self._rates.tolist()])

    @cached_property
    def _first_s(self) -> Floats:
        """Times to the first token (k, q)."""
        limit = self.slo.ttft_s
        return np.array([_times_at_levels(one, "ttft", limit, one.ttft_good_frac) for one in self.points])

    def met(self, found: Floats) -> Met:
        """What follows from numbers in system (t, q) at the ranks, or from the rates."""
        extra = self._extra(found)
        first = self._first_s
        ttft_s = self._by_key(found, first) + extra / self._limit_rps
        missed = np.array([one.mean_ttft_s for one in self.points]) - first @ WEIGHTS
        each = np.repeat(missed[:, None], len(LEVELS), axis=1)
        mean = (ttft_s + self._by_key(found, each)) @ WEIGHTS
        by_little = np.array([one.rate_rps * one.mean_ttft_s for one in self.points])
        waiting = (self._by_key(found, np.repeat(by_little[:, None], len(LEVELS), axis=1)) + extra) @ WEIGHTS
        return Met(ttft_s=ttft_s, mean_ttft_s=mean, goodput_frac=self._good(found, ttft_s), waiting=waiting)

    def _good(self, found: Floats, ttft_s: Floats) -> Floats:
        """Shares (t,) of good requests."""
        in_time = np.ones(len(found))
        if self.slo.ttft_s is not None:
            in_time = np.array([_share_below(row, self.slo.ttft_s) for row in ttft_s])
        passed = self._passed(found)
        upper = np.cumsum(WEIGHTS)
        kept = np.clip((in_time[:, None] - (upper - WEIGHTS)) / WEIGHTS, 0.0, 1.0)
        good = (kept * passed) @ WEIGHTS
        if self.slo.e2e_s is None:
            return np.asarray(good)
        whole = np.array([_times_at_levels(one, "e2e", None, None) for one in self.points])
        e2e_s = self._by_key(found, whole) + self._extra(found) / self._limit_rps
        return np.asarray(np.minimum(good, [_share_below(row, self.slo.e2e_s) for row in e2e_s]))

    @property
    def _limit_rps(self) -> float:
        return self.points[0].limit_rps

    def _extra(self, found: Floats) -> Floats:
        """Requests (t, q) that wait beyond what the last steady state says."""
        if self.crowd is None:
            return np.zeros(found.shape)
        last = np.maximum(self._keys[-1], self.crowd.full)
        return np.asarray(np.maximum(np.maximum(found, self.crowd.full) - last, 0.0))

    def _by_key(self, found: Floats, values: Floats) -> Floats:
        columns = zip(found.T, self._keys.T, values.T, strict=True)
        return np.asarray(np.array([np.interp(*column) for column in columns]).T)

    def _passed(self, found: Floats) -> Floats:
        """Shares (t, q) of those in time with their first token that are good."""
        passed = np.array([_passed(one) for one in self.points])
        keys = self._keys
        if self.crowd is not None and self.full_good_frac is not None:
            loads = [load for load in _BEYOND if load > 1.005 * self.points[-1].load_frac]
            laws = [self.crowd.steady(load * self._limit_rps).at_levels(LEVELS) for load in loads]
            keys = np.vstack([keys, *laws])
            parts = (np.array(loads) - self.points[-1].load_frac) / (1 - self.points[-1].load_frac)
            passed = np.append(passed, passed[-1] + parts * (self.full_good_frac - passed[-1]))
        columns = zip(found.T, keys.T, strict=True)
        return np.asarray(np.array([np.interp(x, key, passed) for x, key in columns]).T)


def _passed(point: Prediction) -> float:
    """Share of those in time with their first token that are good."""
    if point.ttft_good_frac < 1e-3:
        return point.tpot_good_frac
    return min(point.goodput_frac / point.ttft_good_frac, 1.0)


def _share_below(times_s: Floats, limit_s: float) -> float:
    """Share at most a limit, of times at the ranks."""
    if limit_s >= times_s[-1]:
        return 1.0
    if limit_s < times_s[0]:
        return float(LEVELS[0] * max(limit_s / times_s[0], 0.0) if times_s[0] else 0.0)
    return float(np.interp(limit_s, times_s, LEVELS))
