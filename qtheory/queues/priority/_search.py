"""Percentiles of a tail that is dear to compute: what has been computed is kept."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass, field

from qtheory.basics.errors import ConfigError, ConvergenceError

__all__ = ["KnownPoints"]

_STEPS = 100
_RTOL = 1e-7  # of a percentile
_POINTS = 4  # of the inverse interpolation
_EDGE = 1e-3  # nearest that a guess comes to the ends of its bracket, of its width


@dataclass(slots=True)
class KnownPoints:
    """Points of a falling tail, in increasing order of time."""

    times: list[float] = field(default_factory=list)
    tails: list[float] = field(default_factory=list)

    def quantile(
        self, tail: Callable[[float], float], q: float, *, low: float, scale: float, slack: float
    ) -> float:
        """Smallest t >= ``low`` with 1 - tail(t) >= q within ``slack``, where the tail is 1 up to ``low``.

        Inverse interpolation in ln t and the logit of the tail, inside a bracket that shrinks at every step.
        """
        if not 0 < q < 1:
            raise ConfigError(f"q: {q:g} must lie strictly between 0 and 1")
        goal = 1.0 - q
        widths: list[float] = []
        for _ in range(_STEPS):
            i = bisect.bisect_left([-x for x in self.tails], -goal)  # the first at most the goal
            start = self.times[i - 1] if i > 0 else low
            end = self.times[i] if i < len(self.times) else math.inf
            if i < len(self.times) and self.tails[i] >= goal - slack:
                return end
            if i > 0 and self.tails[i - 1] <= goal + slack:
                return start
            if math.isfinite(end) and end - start <= _RTOL * end:
                return end
            slow = len(widths) > 2 and end - start > 0.5 * widths[-3]
            widths.append(end - start)
            guess = self._guess(i, goal, (start, end), scale, slow=slow)
            self._keep(guess, tail(guess))
        raise ConvergenceError(f"q: {q:g} of the response was not found in {_STEPS} steps")

    def _keep(self, time: float, value: float) -> None:
        """Insert a point; its tail never rises above that of an earlier time (by rounding)."""
        k = bisect.bisect(self.times, time)
        value = min(value, self.tails[k - 1]) if k else value
        value = max(value, self.tails[k]) if k < len(self.tails) else value
        self.times.insert(k, time)
        self.tails.insert(k, value)

    def _guess(self, i: int, goal: float, bracket: tuple[float, float], scale: float, *, slow: bool) -> float:
        start, end = bracket
        if not self.times:
            return max(scale, 2.0 * start)
        if math.isinf(end):
            return self._beyond(goal)
        middle = math.sqrt(start * end) if start > 0 else 0.25 * end
        found = middle if slow else self._interpolated(i, goal, middle)
        margin = _EDGE * (end - start)
        return min(max(found, start + margin), end - margin)

    def _beyond(self, goal: float) -> float:
        """Past the last point, as an exponential tail goes on."""
        last, high = self.times[-1], self.tails[-1]
        before, start = (self.times[-2], self.tails[-2]) if len(self.times) > 1 else (0.0, 1.0)
        slope = (math.log(start) - math.log(high)) / (last - before) if high > 0 else math.inf
        step = 1.1 * (math.log(high) - math.log(goal)) / slope if slope > 0 else math.inf
        return last + min(max(step, 0.02 * last), 3.0 * last)

    def _interpolated(self, i: int, goal: float, otherwise: float) -> float:
        """ln t as a polynomial in the logit of the tail, through the nearest points."""
        nearest = sorted(range(len(self.times)), key=lambda k: abs(k - i + 0.5))
        nearest = [k for k in nearest if 1e-13 < self.tails[k] < 1 - 1e-13][:_POINTS]
        x = [_logit(self.tails[k]) for k in nearest]
        if len(x) < 2 or len(set(x)) < len(x):
            return otherwise
        at, value = _logit(goal), 0.0
        for m, k in enumerate(nearest):
            factor = math.prod((at - x[j]) / (x[m] - x[j]) for j in range(len(x)) if j != m)
            value += factor * math.log(self.times[k])
        return math.exp(min(max(value, -700.0), 700.0))


def _logit(p: float) -> float:
    return math.log(p) - math.log1p(-p)
