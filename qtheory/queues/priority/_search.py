"""Percentiles of a tail that is dear to compute: what has been computed is kept."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError, ConvergenceError
from qtheory.numerics.roots import bracketed_root
from qtheory.numerics.window import Window

__all__ = ["KnownPoints", "Near"]

Floats = NDArray[np.float64]

_STEPS = 100
_RTOL = 1e-7  # of a percentile
_POINTS = 4  # of the inverse interpolation
_EDGE = 1e-3  # nearest that a guess comes to the ends of its bracket, of its width
_ROOT_RTOL, _LEAST = 1e-9, 1e-30
_RATIOS = np.array([Window.LOW, 0.7, 0.85, 0.95, 0.99, 0.999, 1.001, 1.01, 1.05, 1.15, Window.HIGH])
_BETWEEN = np.array([0.1, 0.3, 0.5, 0.7, 0.9])  # of an interval of ratios, looked at next
_MISSED = 1e-3  # largest miss of a first interpolation that serves for a second, in the tail's logarithm
_FARTHEST = 1e6  # of the last time, for the next one
_SMALLEST = float(np.finfo(float).tiny)  # a time below that is none
_HINTS = 8  # guesses that may come from windows before the bracket alone decides


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Near:
    """A tail as computed at one time, and the times around it where that says as much.

    Those are the ratios to ``t`` in ``span``, as far as fewer terms change the window by ``tol`` at most.
    Without a window the tail is known at ``t`` alone; with a window and an empty span it is a rough one.
    """

    t: float
    tail: Callable[[Floats], Floats]
    window: Window | None = None
    span: tuple[float, float] = (1.0, 1.0)
    tol: float = 0.0

    @property
    def is_rough(self) -> bool:
        """Whether it only says where to look."""
        return self.window is not None and self.span[0] >= self.span[1]

    @property
    def sure_times(self) -> list[float]:
        """The time, and the ends of what is sure around it."""
        return [self.t, *(x for x in (self.span[0] * self.t, self.span[1] * self.t) if self.is_sure_at(x))]

    def crossing(self, goal: float) -> float | None:
        """Where the window comes down to the goal, if it does."""
        if self.window is None:
            return None

        def gap(t: Floats, _which: NDArray[np.intp] | None = None) -> Floats:
            return np.log(np.maximum(self.tail(t), _LEAST) / goal)

        times = _RATIOS * self.t
        values = gap(times)
        i = int(np.argmax(values < 0))  # the first below
        if i == 0:
            return None
        between = times[i - 1] + (times[i] - times[i - 1]) * _BETWEEN
        x = np.concatenate([values[i - 1 : i], gap(between), values[i : i + 1]])
        at = np.log(np.concatenate([times[i - 1 : i], between, times[i : i + 1]]))
        if np.all(np.diff(x) < 0):
            first = _interpolated(x.tolist(), at.tolist(), 0.0)
            again = float(gap(np.array([math.exp(first)]))[0]) if at[0] < first < at[-1] else math.inf
            if abs(again) < _MISSED and again not in x:
                return math.exp(_interpolated([*x.tolist(), again], [*at.tolist(), first], 0.0))
        ends = values[i - 1 : i], values[i : i + 1]
        return float(bracketed_root(gap, times[i - 1], times[i], rtol=_ROOT_RTOL, values=ends))

    def is_sure_at(self, time: float) -> bool:
        """Whether the window is as good there as at ``t``."""
        if self.window is None or not self.span[0] <= time / self.t <= self.span[1]:
            return False
        return self.window.gap(time) <= self.tol


@dataclass(slots=True)
class KnownPoints:
    """Points of a falling tail, in increasing order of time, and windows."""

    times: list[float] = field(default_factory=list)
    tails: list[float] = field(default_factory=list)
    nears: list[Near] = field(default_factory=list)

    def quantile(
        self,
        tail: Callable[[float], Near],
        q: float,
        *,
        low: float,
        scale: float,
        slack: float,
        rough: Callable[[float], Near] | None = None,
    ) -> float:
        """Smallest t >= ``low`` with 1 - tail(t) >= q within ``slack``, where the tail is 1 up to ``low``.

        First at ``scale``, then where a window comes down to the goal; without one by inverse interpolation
        in ln t and the logit of the tail, inside a bracket that shrinks at every step. With ``rough``, a tail
        that costs less, until a window comes down to the goal.
        """
        if not 0 < q < 1:
            raise ConfigError(f"q: {q:g} must lie strictly between 0 and 1")
        goal = 1.0 - q
        hints = [(near, near.crossing(goal)) for near in self.nears]
        widths: list[float] = []
        for _ in range(_STEPS):
            for near, hint in hints:
                if hint is not None and near.is_sure_at(hint):
                    return hint
            i = bisect.bisect_left([-x for x in self.tails], -goal)  # the first at most the goal
            start = self.times[i - 1] if i > 0 else low
            end = self.times[i] if i < len(self.times) else math.inf
            if i < len(self.times) and self.tails[i] >= goal - slack:
                return end
            if i > 0 and self.tails[i - 1] <= goal + slack:
                return start
            if math.isfinite(end) and end - start <= max(_RTOL * end, _SMALLEST):
                return end if end > _SMALLEST else start
            slow = len(widths) > 2 and end - start > 0.5 * widths[-3]
            asked = [t for _, t in hints if t is not None]
            inside = [t for t in asked if start < t < end]
            is_hint = bool(inside) and len(widths) < _HINTS
            guess = inside[-1] if is_hint else self._guess(i, goal, (start, end), scale, slow=slow)
            near = rough(guess) if rough is not None and not asked else tail(guess)
            widths.append(end - start)
            hints.append((near, near.crossing(goal)))
            if not near.is_rough or hints[-1][1] is None:  # else better is asked for there
                self._keep_all(near)
        raise ConvergenceError(f"q: {q:g} of the response was not found in {_STEPS} steps")

    def _keep_all(self, near: Near) -> None:
        times = sorted(near.sure_times)
        for time, value in zip(times, near.tail(np.array(times)).tolist(), strict=True):
            self._keep(time, value)
        self.nears.append(near)

    def _keep(self, time: float, value: float) -> None:
        """Insert a point; its tail never rises above that of an earlier time (by rounding)."""
        k = bisect.bisect(self.times, time)
        value = min(value, self.tails[k - 1]) if k else value
        value = max(value, self.tails[k]) if k < len(self.tails) else value
        self.times.insert(k, time)
        self.tails.insert(k, value)

    def _guess(self, i: int, goal: float, bracket: tuple[float, float], scale: float, *, slow: bool) -> float:
        start, end = bracket
        if not self.times or (math.isinf(end) and scale > _FARTHEST * start):
            return max(scale, 1.01 * start, _SMALLEST)
        if math.isinf(end):
            return self._beyond(goal)
        middle = math.sqrt(start * end) if start > 0 else 0.25 * end
        found = middle if slow else self._between(i, goal, middle)
        margin = _EDGE * (end - start)
        return min(max(found, start + margin), end - margin)

    def _beyond(self, goal: float) -> float:
        """Past the last point, as an exponential tail goes on."""
        last, high = self.times[-1], self.tails[-1]
        before, start = (self.times[-2], self.tails[-2]) if len(self.times) > 1 else (0.0, 1.0)
        is_fall = high > 0 and last > before
        slope = (math.log(start) - math.log(high)) / (last - before) if is_fall else math.inf
        step = 1.1 * (math.log(high) - math.log(goal)) / slope if slope > 0 else math.inf
        most = min(max(3.0, math.sqrt(last / self.times[0])), _FARTHEST)  # further and further on a plateau
        return last + min(max(step, 0.02 * last), most * last)

    def _between(self, i: int, goal: float, otherwise: float) -> float:
        """ln t as a polynomial in the logit of the tail, through the nearest points; outside them a line."""
        nearest = sorted(range(len(self.times)), key=lambda k: abs(k - i + 0.5))
        nearest = [k for k in nearest if 1e-13 < self.tails[k] < 1 - 1e-13][: _POINTS if i else 2]
        x = [_logit(self.tails[k]) for k in nearest]
        if len(x) < 2 or len(set(x)) < len(x):
            return otherwise
        value = _interpolated(x, [math.log(self.times[k]) for k in nearest], _logit(goal))
        return math.exp(min(max(value, -700.0), 700.0))


def _interpolated(x: list[float], y: list[float], at: float) -> float:
    """The polynomial through all points."""
    value = 0.0
    for m in range(len(x)):
        value += y[m] * math.prod((at - x[j]) / (x[m] - x[j]) for j in range(len(x)) if j != m)
    return value


def _logit(p: float) -> float:
    return math.log(p) - math.log1p(-p)
