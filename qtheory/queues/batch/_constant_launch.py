"""Laws of wait and response for constant service times when an idle server waits for enough customers."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from qtheory.numerics.markov import poisson_below, poisson_reach

from ._constant import ConstantBatchLaws, time_above
from ._launch import Launch
from ._starts import ServiceStarts
from ._windows import JointWindows

__all__ = ["ConstantLaunchLaws"]

Floats = NDArray[np.float64]

_NODES, _WEIGHTS = legendre.leggauss(32)


class ConstantLaunchLaws:
    r"""As `ConstantBatchLaws`, with the time V that an idle server waits added where it left k < a behind.

    V from k is the time of :math:`m=a-k` arrivals or the timer. With :math:`C_k(x)=P(W_0\le x,k)` for the
    wait :math:`W_0` until the server is free, :math:`E[C_k(t-V)]` is needed; a wait that is uniform on
    :math:`(0,\tau)` gives :math:`(K(t)-K(t-\tau))/\tau`, :math:`K(u)=E[(u-V)^+]`, the rest is integrated
    over its panels. Those who come while the server is idle are counted directly.
    """

    def __init__(self, starts: ServiceStarts, launch: Launch) -> None:
        self.starts, self.launch = starts, launch
        self.greedy = ConstantBatchLaws(starts)
        self.service_s = self.greedy.service_s

    @cached_property
    def windows(self) -> JointWindows:
        """Law of the wait until the server is free, together with the number present then."""
        return JointWindows(self.starts, self.service_s, free=0.0)

    def _reach(self, m: Floats | int, x: Floats | float) -> Floats:
        """P(m arrivals within x)."""
        return poisson_reach(m, self.starts.rate_rps * np.maximum(x, 0.0))

    def _early(self, k: int, u: Floats) -> Floats:
        """Integral over v in (0, u) of P(V <= v, V before the timer), from k."""
        m, timer = np.array(float(self.launch.least - k)), self.launch.timeout_s
        inside = np.clip(u, 0.0, timer)
        found = time_above(self.starts.rate_rps, m, inside)
        after = np.maximum(u - timer, 0.0) * self._reach(m, timer) if np.isfinite(timer) else 0.0
        return np.asarray(found + after, dtype=float)

    def _met(self, k: int, t: float) -> float:
        """E[C_k(t - V); V before the timer], from k."""
        if t <= 0:
            return 0.0
        own = self.windows.first[:, k - 1]
        late = self._early(k, np.array(t)) - self._early(k, t - self.service_s)
        found = float(own @ (late / self.service_s))
        m, timer = self.launch.least - k, self.launch.timeout_s
        for panel in self.windows.panels:
            if t <= panel.low:
                break
            cut = min(max(panel.low, t - timer), panel.high, t)
            for low, high in ((panel.low, cut), (cut, min(panel.high, t))):
                if high > low:
                    w = 0.5 * (low + high) + 0.5 * (high - low) * _NODES
                    before = self._reach(m, np.minimum(t - w, timer))
                    found += 0.5 * (high - low) * float(_WEIGHTS @ (panel.density(w)[:, k - 1] * before))
        return found

    def _timed_out(self, k: int) -> list[tuple[int, float]]:
        """Number present and probability, where the timer ends the idle time from k."""
        row = self.launch.law[k]
        return [(x, float(row[x - 1])) for x in range(k, self.launch.least) if row[x - 1] > 0]

    def wait_tail(self, t: Floats) -> Floats:
        """P(W > t), t >= 0."""
        return np.asarray(
            self.greedy.wait_tail(t) + [self._held(x) + self._joined(x) for x in t], dtype=float
        )

    def _held(self, t: float) -> float:
        """Those present when the server gets free: P(W_0 <= t < W_0 + V)."""
        timer = self.launch.timeout_s
        known = self.windows.below(t)
        ended = self.windows.below(t - timer) if np.isfinite(timer) else np.zeros(len(known))
        total = 0.0
        for k in range(1, self.launch.least):
            by_timer = sum(chance for _, chance in self._timed_out(k)) * float(ended[k - 1])
            total += float(known[k - 1]) - by_timer - self._met(k, t)
        return total

    def _joined(self, t: float) -> float:
        """Those who come to the idle server and wait longer than t."""
        a, rate, timer = self.launch.least, self.starts.rate_rps, self.launch.timeout_s
        if t >= timer or a == 1:
            return 0.0
        later = np.zeros(a)
        for y in range(1, a):
            m = a - y
            if np.isinf(timer):
                later[y] = float(poisson_below(np.arange(1, m), rate * t).sum())
            else:
                above = time_above(rate, np.array(m - 1.0), np.array([timer, t]))
                later[y] = rate * (timer - t - float(above[0] - above[1]))
        later[0] = float(poisson_below(a - 1, rate * t)) + later[1]
        return float(self.starts.ended @ later) / self.starts.mean_batch

    def response_tail(self, t: Floats) -> Floats:
        """P(T > t), t >= 0."""
        return np.array([self._response_tail(float(x)) for x in t])

    def _response_tail(self, t: float) -> float:
        full_s, a = float(self.service_s[-1]), self.launch.least
        arrived = self.starts.rate_rps * self.starts.mean_service_s / self.starts.mean_batch
        late = float(self.greedy.wait_tail(np.array([t - full_s]))[0]) if t >= full_s else arrived
        known = self.windows.below(t - self.service_s[:-1])
        late -= float((known - self.windows.below(t - full_s)).sum())  # all as under the greedy rule
        total = self.windows.total
        for k in range(1, a):
            late -= float(total[k - 1] - known[k - 1])
            for x, chance in self._timed_out(k):
                gone = self.windows.below(t - self.launch.timeout_s - float(self.service_s[x - 1]))
                late += chance * float(total[k - 1] - gone[k - 1])
            filled = float(self.launch.law[k, a - 1]) * float(total[k - 1])
            late += filled - self._met(k, t - float(self.service_s[a - 1]))
        return late + float(self.starts.ended @ self._joined_response(t)) / self.starts.mean_batch

    def _joined_response(self, t: float) -> Floats:
        """Those who come to the idle server and take longer than t, by the number y that it was left with."""
        a, rate, timer = self.launch.least, self.starts.rate_rps, self.launch.timeout_s
        tau = self.service_s
        found = np.zeros(a)
        left = t - float(tau[a - 1])  # of the time after the batch has filled
        for y in range(1, a):
            m = a - y
            enough = float(self.launch.law[y, a - 1])
            if left < 0:
                found[y] = m * enough
            elif left < timer:
                missed = rate * left * (self._within(m - 1, timer) - self._within(m - 1, left))
                found[y] = (m - 1) * (enough - self._within(m, left)) - missed
            for x, chance in self._timed_out(y):  # waits uniform up to the timer
                found[y] += chance * (x - y) * min(max(1.0 - (t - float(tau[x - 1])) / timer, 0.0), 1.0)
        if a == 1:
            found[0] = float(t < tau[0])
            return found
        found[0] = found[1]
        if left < timer:
            found[0] += float(self.launch.law[1, a - 1]) - (self._within(a - 1, left) if left > 0 else 0.0)
        found[0] += sum(chance * (t < timer + float(tau[x - 1])) for x, chance in self._timed_out(1))
        return found

    def _within(self, m: int, x: float) -> float:
        """P(m arrivals within x), also for an infinite x."""
        return 1.0 if np.isinf(x) or m <= 0 else float(self._reach(m, x))
