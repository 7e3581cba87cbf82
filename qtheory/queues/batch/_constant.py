"""Exact laws of wait and response when a batch of given size always takes the same time."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qtheory.numerics.markov import poisson_below, poisson_reach

from ._starts import ServiceStarts
from ._windows import JointWindows

__all__ = ["ConstantBatchLaws", "time_above"]

Floats = NDArray[np.float64]

_NOTHING = 1e-18


def time_above(rate: float, least: Floats, x: Floats) -> Floats:
    """Integral over u in (0, x) of P(N(u) >= least), N Poisson of this rate."""
    some = np.maximum(least, 1.0)
    area = x * poisson_reach(some, rate * x) - some / rate * poisson_reach(some + 1.0, rate * x)
    return np.where(least > 0, np.maximum(area, 0.0), x)


class ConstantBatchLaws:
    r"""Tails in closed form, given the law of the number present at a service start.

    A customer who arrives :math:`u` into a service that left l behind, as number N(u) + 1 since its start,
    waits for the rest of it and :math:`\lfloor(l+N(u))/b\rfloor` full services. So P(W > t) is a sum of
    integrals :math:`\int_0^xP(N(u)\ge m)\,du=x\,P(N(x)\ge m)-\frac m\lambda P(N(x)\ge m+1)` with N Poisson.
    The batch that takes the customer is full unless few arrived until then; `JointWindows` has the law of
    the wait together with each smaller batch.
    """

    def __init__(self, starts: ServiceStarts) -> None:
        self.starts = starts
        self.service_s = np.array([law.mean for law in starts.laws])  # (b,)
        b, n = starts.max_batch, len(starts.pmf)
        heavy = starts.pmf > _NOTHING
        left = np.maximum(np.arange(1, n + 1) - b, 0)
        self._pmf = starts.pmf[heavy]
        self._left = left[heavy].astype(float)
        self._busy_s = self.service_s[np.minimum(np.arange(n), b - 1)][heavy]
        self._share = starts.rate_rps / starts.mean_batch
        self.prob_free = float(starts.ended[0]) / starts.mean_batch  # arrivals that find the server idle

    @cached_property
    def windows(self) -> JointWindows:
        """Law of the wait together with the batch size."""
        return JointWindows(self.starts, self.service_s, free=self.prob_free)

    def _lump_time_above(self, least: float, x: float) -> float:
        """The same with a geometric number (from 0 on) added to N(u)."""
        if least <= 0 or x <= 0:
            return max(x, 0.0)
        rate, ratio = self.starts.rate_rps, self.starts.ratio
        if ratio <= 0:
            return float(time_above(self.starts.rate_rps, np.array([least]), np.array([x]))[0])
        growth = rate * (1.0 / ratio - 1.0)
        with np.errstate(under="ignore"):
            faster = np.exp(least * np.log(ratio) + growth * x) * poisson_below(least, rate * x / ratio)
            added = (faster - ratio**least + poisson_reach(least, rate * x)) / growth
        return float(added + time_above(rate, np.array(least), np.array(x)))

    def wait_tail(self, t: Floats) -> Floats:
        """P(W > t), t >= 0."""
        return np.array([self._wait_tail(float(x)) for x in t])

    def _wait_tail(self, t: float) -> float:
        b, full_s = self.starts.max_batch, float(self.service_s[-1])
        whole = np.floor(t / full_s)
        split = np.maximum(
            self._busy_s - (t - whole * full_s), 0.0
        )  # before it, one full service less will do
        least = whole * b - self._left
        inside = time_above(self.starts.rate_rps, least, split)
        inside += time_above(self.starts.rate_rps, least + b, self._busy_s) - time_above(
            self.starts.rate_rps, least + b, split
        )
        total = float(self._pmf @ inside)
        if self.starts.lump > _NOTHING:
            total += self.starts.lump * self._lump_tail(whole * b, t - whole * full_s)
        return self._share * total

    def _lump_tail(self, least: float, rest: float) -> float:
        b, full_s = self.starts.max_batch, float(self.service_s[-1])
        least -= self.starts.first_lumped - b
        above = self._lump_time_above
        split = full_s - rest
        return above(least, split) + above(least + b, full_s) - above(least + b, split)

    def response_tail(self, t: Floats) -> Floats:
        """P(T > t), t >= 0: as if every batch were full, less what a smaller batch saves."""
        full_s = float(self.service_s[-1])
        late = np.ones(t.shape)
        later = t >= full_s
        late[later] = self.wait_tail(t[later] - full_s)
        if self.starts.max_batch == 1:
            return late
        smaller = self.service_s[:-1]
        saved = [(self.windows.below(x - smaller) - self.windows.below(x - full_s)).sum() for x in t]
        return np.asarray(late - np.array(saved), dtype=float)

    @cached_property
    def wait_var_s2(self) -> float:
        r"""Variance of the wait: those behind a customer at its start arrived during its wait.

        Their number is Poisson given W, so :math:`\lambda^2E[W^2]=E[Q(Q-1)]` (distributional Little's law).
        """
        starts, b = self.starts, self.starts.max_batch
        size = np.arange(1.0, b + 1)
        pairs = b * starts.square_left + b * (b - 2) * starts.mean_left
        pairs += float(starts.batch @ (size * (size - 1) * (size - 2))) / 3.0
        behind = (b * starts.mean_left + float(starts.batch @ (size * (size - 1))) / 2.0) / starts.mean_batch
        second = pairs / starts.mean_batch
        return (second - behind**2) / starts.rate_rps**2

    def _service_seen(self) -> tuple[float, float]:
        """Mean and variance of the time of the batch that takes a customer."""
        starts = self.starts
        seen = starts.batch * np.arange(1, starts.max_batch + 1) / starts.mean_batch
        mean_s = float(seen @ self.service_s)
        return mean_s, float(seen @ (self.service_s - mean_s) ** 2)

    @property
    def spread_s(self) -> float | None:
        """A bound of the standard deviation of the response, from those of its parts; None without any."""
        bound = math.sqrt(max(self.wait_var_s2, 0.0)) + math.sqrt(self._service_seen()[1])
        return bound if bound > 0 else None

    @cached_property
    def response_var_s2(self) -> float:
        """Variance of the response, with the covariance of the wait and the batch that ends it."""
        mean_s, spread = self._service_seen()
        wait_s = self.mean_wait_s
        product = self.service_s[-1] * wait_s
        if self.starts.max_batch > 1:
            product += float((self.service_s[:-1] - self.service_s[-1]) @ self.windows.mean_wait_s)
        return self.wait_var_s2 + spread + 2.0 * (float(product) - wait_s * mean_s)

    @property
    def mean_wait_s(self) -> float:
        """Mean wait, from those behind a customer at its start."""
        starts, b = self.starts, self.starts.max_batch
        size = np.arange(1.0, b + 1)
        behind = b * starts.mean_left + float(starts.batch @ (size * (size - 1))) / 2.0
        return behind / starts.mean_batch / starts.rate_rps
