"""Queues whose truth is known, made in one sweep: waits of M/M/1 and M/G/1 by Lindley's recursion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Queue:
    """FCFS M/G/1 with mean service 1: exponential, or a balanced mixture of two exponentials.

    The tail of the wait is a sum of two exponentials, from the poles of the Pollaczek-Khinchine transform.
    """

    rho: float
    cv2: float = 1.0  # squared coefficient of variation of service

    @property
    def _mixture(self) -> tuple[Floats, Floats]:
        p = (1 + np.sqrt((self.cv2 - 1) / (self.cv2 + 1))) / 2
        return np.array([p, 1 - p]), np.array([2 * p, 2 * (1 - p)])

    def _services(self, rng: np.random.Generator, n: int) -> Floats:
        weight, rate = self._mixture
        return rng.exponential(size=n) / rate[(rng.random(n) > weight[0]).astype(int)]

    def path(self, rng: np.random.Generator, n: int) -> tuple[Floats, Floats, Floats]:
        """Arrival times, waits and number found in the system by ``n`` customers, from empty."""
        between_s, service_s, wait_s = self._waited(rng, n)
        time_s = np.cumsum(between_s)
        found = np.arange(n) - np.searchsorted(time_s + wait_s + service_s, time_s)
        return time_s, wait_s, found.astype(float)

    def waits(self, rng: np.random.Generator, n: int) -> Floats:
        """Waits of ``n`` customers, from empty."""
        return self._waited(rng, n)[2]

    def _waited(self, rng: np.random.Generator, n: int) -> tuple[Floats, Floats, Floats]:
        """Gaps between arrivals, services and waits."""
        between_s, service_s = rng.exponential(1 / self.rho, n), self._services(rng, n)
        walk = np.concatenate(([0.0], np.cumsum(service_s[:-1] - between_s[1:])))
        return between_s, service_s, walk - np.minimum.accumulate(walk)

    @property
    def _tail(self) -> tuple[Floats, Floats]:
        """Coefficients and decay rates of P(W > t)."""
        if self.cv2 == 1:
            return np.array([self.rho]), np.array([1 - self.rho])
        weight, rate = self._mixture
        b = rate.sum() - self.rho
        c = rate.prod() - self.rho * (weight[0] * rate[1] + weight[1] * rate[0])
        decay = (b + np.array([1.0, -1.0]) * np.sqrt(b * b - 4 * c)) / 2
        residue = (1 - self.rho) * np.prod(rate[None, :] - decay[:, None], axis=1) / (decay[::-1] - decay)
        return residue / decay, decay

    def share_over(self, wait_s: float) -> float:
        """P(W > t)."""
        factor, decay = self._tail
        return float(factor @ np.exp(-decay * wait_s))

    @property
    def mean(self) -> float:
        """Pollaczek-Khinchine."""
        return self.rho * (1 + self.cv2) / 2 / (1 - self.rho)

    def percentile(self, q: float) -> float:
        """Wait exceeded by 1 - q/100 of the customers."""
        return float(brentq(lambda t: self.share_over(t) - (1 - q / 100), 0.0, 1e5))


@pytest.fixture(scope="session")
def queue() -> type[Queue]:
    """The class of known queues."""
    return Queue
