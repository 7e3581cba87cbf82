"""When an idle batch server starts: at once, with enough customers, or when a timer runs out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qtheory.numerics.markov import poisson_pmf, poisson_reach

__all__ = ["Launch"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]


@dataclass(frozen=True, kw_only=True)
class Launch:
    r"""An idle server with y customers, y < a, waits for a of them, at most ``timeout_s`` seconds.

    The timer starts when the server is free and somebody is there: at the end of a service that left
    1 <= y < a behind, else at the next arrival. With y = 0 the first arrival makes y = 1.
    Row y, column x - 1 stand for y present when the server gets free and x at the start, 1 <= x <= a.
    """

    rate_rps: float
    least: int
    timeout_s: float = math.inf

    @cached_property
    def _enough(self) -> Floats:
        """P(at least m arrivals before the timer ends), m = 0..a."""
        m = np.arange(self.least + 1)
        if math.isinf(self.timeout_s):
            return np.ones(len(m))
        return poisson_reach(m, self.rate_rps * self.timeout_s)

    @cached_property
    def _exactly(self) -> Floats:
        """P(m arrivals before the timer ends), m = 0..a - 1."""
        m = np.arange(self.least)
        if math.isinf(self.timeout_s):
            return np.zeros(len(m))
        return poisson_pmf(m, self.rate_rps * self.timeout_s)

    @property
    def is_at_once(self) -> bool:
        """Whether there is no timer whose end could be seen in the laws."""
        return self.least == 1 or math.isinf(self.timeout_s)

    @cached_property
    def law(self) -> Floats:
        """P(x at the start | y), shape (a, a)."""
        a = self.least
        p = np.zeros((a, a))
        for y in range(1, a):
            p[y, y - 1 : a - 1] = self._exactly[: a - y]
            p[y, a - 1] = self._enough[a - y]
        p[0] = p[1] if a > 1 else 1.0
        return p

    @cached_property
    def idle_s(self) -> Floats:
        """Mean idle time from y on, shape (a,)."""
        found = np.array([self._until_start(y, np.ones(self.least)) for y in range(self.least)])
        found[0] += 1.0 / self.rate_rps
        return found

    @cached_property
    def waited_s(self) -> Floats:
        """Mean of the integral of the number present over the idle time, shape (a,)."""
        return np.array([self._until_start(y, np.arange(float(self.least))) for y in range(self.least)])

    @cached_property
    def spent_s(self) -> Floats:
        """Mean idle time with n present, from y on, shape (a, a)."""
        found = np.array([[self._until_start(y, e) for e in np.eye(self.least)] for y in range(self.least)])
        found[0, 0] += 1.0 / self.rate_rps
        return found

    @cached_property
    def at_once(self) -> Floats:
        """Mean number of arrivals to the idle server whose wait is zero, from y on, shape (a,)."""
        least = self.least - np.maximum(np.arange(self.least), 1)
        return np.asarray(self._enough[least], dtype=float)

    def _until_start(self, y: int, level: Floats) -> float:
        """Mean integral of level[number present] from the start of the timer (y = 0: from y = 1)."""
        first = max(y, 1)
        if first >= self.least:
            return 0.0
        return float(self._enough[1 : self.least - first + 1] @ level[first:]) / self.rate_rps

    def _filled(self, s: Complexes) -> Complexes:
        """E[exp(-s V); V before the timer ends], V the time of m arrivals, m = 0..a: shape (a + 1, *s)."""
        share = self.rate_rps / (self.rate_rps + s)
        m = np.arange(self.least + 1).reshape(-1, *([1] * s.ndim))
        powers = share**m
        if math.isinf(self.timeout_s):
            return powers
        late = np.zeros_like(powers)
        decay = np.exp(-s * self.timeout_s)
        for i in range(1, self.least + 1):
            late[i] = share * (late[i - 1] + self._exactly[i - 1] * decay)
        return np.asarray(powers - late, dtype=np.complex128)

    def held(self, s: Complexes, start: Complexes) -> Complexes:
        """E[exp(-s idle) start[x - 1]] for those present when the server gets free with y, shape (a, *s)."""
        a = self.least
        found = np.zeros((a, *s.shape), dtype=np.complex128)
        filled = self._filled(s)
        decay = np.exp(-s * self.timeout_s) if math.isfinite(self.timeout_s) else np.zeros_like(s)
        for y in range(1, a):
            found[y] = filled[a - y] * start[a - 1]
            for i in range(a - y):
                found[y] += self._exactly[i] * decay * start[y + i - 1]
        return found

    def joined(self, s: Complexes, start: Complexes) -> Complexes:
        """Sum over those who arrive while the server is idle, of exp(-s wait) start[x - 1], shape (a, *s)."""
        a, rate = self.least, self.rate_rps
        found = np.zeros((a, *s.shape), dtype=np.complex128)
        filled = self._filled(s)
        for y in range(1, a):
            m = a - y
            whole = self._enough[m] + (rate / s * (self._enough[m - 1] - filled[m - 1]) if m > 1 else 0.0)
            found[y] = whole * start[a - 1]
            if math.isfinite(self.timeout_s):
                spread = -np.expm1(-s * self.timeout_s) / (s * self.timeout_s)
                for i in range(1, m):
                    found[y] += self._exactly[i] * i * spread * start[y + i - 1]
        found[0] = start[0] if a == 1 else self.held(s, start)[1] + found[1]
        return found
