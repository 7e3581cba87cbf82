"""The wait in M/D/1/K."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import pdtrc

from qtheory.numerics.roots import quantile

__all__ = ["FiniteDeterministicWait", "at_service_start"]

Floats = NDArray[np.float64]


def at_service_start(found: Floats) -> Floats:
    """Customers at the start of a service: those left behind, or the one who came to nobody."""
    start = found.copy()
    start[1:2] += start[0]
    start[0] = 0.0
    return start


@dataclass(frozen=True, slots=True, kw_only=True)
class FiniteDeterministicWait:
    r"""Exact law of the wait in M/D/1/K: the residual service of the elapsed one, and whole services.

    One who finds n waits between n-1 and n services; n are there after an elapsed time a if j were at the
    start and n-j came since: :math:`P(N=n,\text{elapsed}\le y)\propto\sum_jq_jP(J>n-j)`, J Poisson of mean
    :math:`\lambda y`.

    Parameters
    ----------
    rate_rps, service_s : float
        Arrival rate, requests per second, and service time, seconds, > 0.
    found : array
        Probabilities that an accepted customer finds 0..K-1.

    Examples
    --------
    >>> wait = FiniteDeterministicWait(rate_rps=1.0, service_s=1.0, found=np.array([0.5, 0.5]))
    >>> round(wait.mean_s, 3), float(wait.sf(1.0))  # K = 2: at most one service
    (0.291, 0.0)
    """

    rate_rps: float
    service_s: float
    found: Floats

    @property
    def mean_s(self) -> float:
        """Mean, seconds."""
        return self._moment(1)

    @property
    def var_s2(self) -> float:
        """Variance, seconds squared."""
        return self._moment(2) - self.mean_s**2

    def _moment(self, k: int) -> float:
        node, weight = np.polynomial.legendre.leggauss(24)
        total = 0.0
        for m in range(self.found.size - 1):
            t = self.service_s * (m + 0.5 + 0.5 * node)
            total += float(weight @ (k * t ** (k - 1) * self.sf(t))) * self.service_s / 2
        return total

    def sf(self, t: ArrayLike) -> Floats:
        """P(W > t)."""
        late = np.asarray(t, dtype=float) / self.service_s
        k = self.found.size
        start = at_service_start(self.found)
        at_least = np.append(np.cumsum(self.found[::-1])[::-1], np.zeros(2))  # P(found >= n)
        m = np.clip(np.floor(np.maximum(late, 0.0)), 0, k).astype(int)
        young = (
            self.rate_rps * self.service_s * (1 - (np.maximum(late, 0.0) - m))
        )  # lam x largest elapsed time
        n = np.minimum(m + 1, k - 1)
        tail = at_least[np.minimum(m + 2, k + 1)].copy()
        scale = self._scale(start)
        for j in range(1, k):
            came = n - j
            tail = tail + np.where(
                (came >= 0) & (m + 1 <= k - 1), scale * start[j] * pdtrc(np.maximum(came, 0), young), 0.0
            )
        return np.where(late < 0, 1.0, tail)

    def _scale(self, start: Floats) -> float:
        """Makes P(found = 1) come out of the sum over a whole service."""
        if self.found.size < 2:
            return 0.0
        return float(self.found[1] / (start[1] * pdtrc(0, self.rate_rps * self.service_s)))

    def ppf(self, q: ArrayLike) -> Floats:
        """Smallest t with P(W <= t) >= q."""
        top = (self.found.size - 1) * self.service_s
        return quantile(
            lambda t: self.sf(np.minimum(t, top)), q, scale=max(self.mean_s, 1e-3 * self.service_s)
        )
