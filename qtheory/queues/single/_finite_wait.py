"""The wait in M/G/1/K: its first two moments for any service, its law for a constant one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, pdtrc

from qtheory.laws.law import Law
from qtheory.numerics.roots import quantile

from ._common import all_atoms_of
from .excess import tail_quadrature

__all__ = ["ArrivalsInService", "FiniteDeterministicWait", "at_service_start", "wait_moments"]

Floats = NDArray[np.float64]

_ROWS = 256  # counts treated at once, with the times at which they are likely


def at_service_start(found: Floats) -> Floats:
    """Customers at the start of a service: those left behind, or the one who came to nobody."""
    start = found.copy()
    start[1:2] += start[0]
    start[0] = 0.0
    return start


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivalsInService:
    """The number A of Poisson arrivals in a service: sums of positive terms at any load.

    ``finite_variance`` says whether the service has one.
    """

    rate_rps: float
    service: Law
    finite_variance: bool

    def more(self, n: int) -> Floats:
        """P(A > j) for j = 0..n-1."""
        if all_atoms_of(self.service) is not None:
            return self._by_atoms(n)[:n]
        lam = self.rate_rps
        x, weight = self._nodes(n)
        found = np.empty(n)
        for block in np.array_split(np.arange(n), max(1, n // _ROWS)):  # the (j+1)-th comes before the end
            inside = slice(*self._likely(x, block))
            j = block[:, None]
            with np.errstate(under="ignore"):
                kernel = np.exp(j * np.log(lam * x[inside]) - lam * x[inside] - gammaln(j + 1.0))
            found[block] = kernel @ (lam * weight[inside])
        return found

    def excesses(self, n: int) -> tuple[Floats, Floats]:
        """E[(A - j - 1)+], and E[(A - j - 1)+ (A - j - 2)] given a finite variance, for j = 0..n-1."""
        lam = self.rate_rps
        if all_atoms_of(self.service) is not None:
            more = self._by_atoms(n)
            first = np.append(np.cumsum(more[::-1])[::-1][1:], 0.0)
            second = np.append(np.cumsum(first[::-1])[::-1][1:], 0.0)
            return first[:n], 2 * second[:n]
        x, weight = self._nodes(n)
        mass = np.append(np.cumsum(weight[::-1])[::-1], 0.0) * lam  # beyond each node
        mean = np.append(np.cumsum((weight * x)[::-1])[::-1], 0.0) * lam**2
        if not self.finite_variance:
            mass += self.rate_rps * self._beyond(n)
        first, second = np.empty(n), np.empty(n)
        for block in np.array_split(np.arange(n), max(1, n // _ROWS)):
            low, high = self._likely(x, block)
            k, y, w = block[:, None] + 1.0, lam * x[low:high], lam * weight[low:high]
            least, beyond = pdtrc(k - 1, y), pdtrc(k, y)
            first[block] = least @ w + mass[high]
            second[block] = 2 * ((y * least - k * beyond) @ w + mean[high] - k[:, 0] * mass[high])
        return first, second

    def _beyond(self, n: int) -> float:
        """E[(S - x)+] from the last node on, for a service without a variance."""
        end = self._end(n)
        if end >= self.service.support[1]:
            return 0.0
        return self.service.moment_between(1, end, math.inf) - end * float(self.service.sf(end))

    def _end(self, n: int) -> float:
        """A service in which more than n come surely."""
        return max((n + 10 * math.sqrt(n) + 80) / self.rate_rps, 2 * self.service.mean)

    def _likely(self, x: Floats, counts: NDArray[np.intp]) -> tuple[int, int]:
        """Between which nodes such counts are neither impossible nor sure to be passed."""
        low, high = counts[0] + 1.0, counts[-1] + 1.0
        ends = [low - 10 * math.sqrt(low) - 50, high + 10 * math.sqrt(high) + 80]
        first, last = np.searchsorted(x, np.array(ends) / self.rate_rps)
        return int(first), int(last)

    def _nodes(self, n: int) -> tuple[Floats, Floats]:
        """Nodes and weights of the tail of the service, dense enough for n arrivals."""
        fine = min(0.25, 4 / math.sqrt(n + 1))
        if self.finite_variance:
            return tail_quadrature(self.service, fine=fine)
        return tail_quadrature(self.service, fine=fine, high=self._end(n))

    def _by_atoms(self, n: int) -> Floats:
        """P(A > j) as far as it is above zero, and for j < n at least."""
        values, probs = all_atoms_of(self.service) or (np.zeros(0), np.zeros(0))
        most = self.rate_rps * float(values[-1])
        size = max(n, int(most + 12 * math.sqrt(most)) + 60)
        blocks = np.array_split(np.arange(size), 1 + size * values.size // 1_000_000)
        return np.concatenate([pdtrc(j[:, None], self.rate_rps * values) @ probs for j in blocks])


def wait_moments(
    arrivals: ArrivalsInService, found: Floats, excesses: tuple[Floats, Floats]
) -> tuple[float, float | None]:
    r"""Mean and variance of the wait of one who finds 0..K-1; no variance if that of a service is infinite.

    Of the customers at the start of the service he finds, j, n - j more came in its elapsed part; what is
    left of it, R, has :math:`\lambda^kE[R^k;n-j=m]` = the k-th excess of the arrivals in a service over m.
    """
    k, lam, service = found.size, arrivals.rate_rps, arrivals.service
    if k < 2:
        return 0.0, 0.0
    start = at_service_start(found)[1:]
    left = np.convolve(start, excesses[0][: k - 1])[: k - 1] / lam  # by the number found, 1..k-1
    others = np.arange(k - 1.0)  # whole services before his
    mean = float(left.sum() + service.mean * (others @ found[1:]))
    if not arrivals.finite_variance:
        return mean, None
    left2 = np.convolve(start, excesses[1][: k - 1])[: k - 1] / lam**2
    whole = others * service.var + ((others * service.mean) - mean) ** 2
    ahead = 2 * (others * service.mean - mean)  # about the mean, against cancellation
    return mean, float(found[0] * mean**2 + left2.sum() + ahead @ left + whole @ found[1:])


@dataclass(frozen=True, slots=True, kw_only=True)
class FiniteDeterministicWait:
    r"""Exact law of the wait in M/D/1/K: the residual service of the elapsed one, and whole services.

    One who finds n waits between n-1 and n services; n are there after an elapsed time a if j were at the
    start and n-j came since: :math:`P(N=n,\text{elapsed}\le y)=\sum_jq_jP(J>n-j)`, J Poisson of mean
    :math:`\lambda y`.

    Parameters
    ----------
    rate_rps, service_s : float
        Arrival rate, requests per second, and service time, seconds, > 0.
    found : array
        Probabilities that an accepted customer finds 0..K-1.
    mean_s, var_s2 : float
        Mean, seconds, and variance, seconds squared.

    Examples
    --------
    >>> found = np.exp([-1.0, 0.0]) - [0.0, np.exp(-1.0)]  # K = 2 at load 1: at most one service
    >>> wait = FiniteDeterministicWait(rate_rps=1.0, service_s=1.0, found=found, mean_s=0.37, var_s2=0.11)
    >>> round(float(wait.sf(0.0)), 6), float(wait.sf(1.0))
    (0.632121, 0.0)
    """

    rate_rps: float
    service_s: float
    found: Floats
    mean_s: float
    var_s2: float

    def sf(self, t: ArrayLike) -> Floats:
        """P(W > t)."""
        late = np.asarray(t, dtype=float) / self.service_s
        start = at_service_start(self.found)
        at_least = np.append(np.cumsum(self.found[::-1])[::-1], 0.0)  # P(found >= n)
        tail = [self._tail(x, start, at_least) if x >= 0 else 1.0 for x in late.ravel().tolist()]
        return np.array(tail, dtype=float).reshape(late.shape)

    def _tail(self, late: float, start: Floats, at_least: Floats) -> float:
        """The tail after ``late`` services."""
        k, n = self.found.size, math.floor(late) + 1 if late < self.found.size else self.found.size
        if n >= k:
            return 0.0
        young = self.rate_rps * self.service_s * (n - late)  # rate x largest elapsed time
        inside = start[1 : n + 1] @ pdtrc(np.arange(n - 1, -1, -1), young)
        return min(float(at_least[n + 1] + inside), 1.0)

    def ppf(self, q: ArrayLike) -> Floats:
        """Smallest t with P(W <= t) >= q."""
        top = (self.found.size - 1) * self.service_s
        return quantile(
            lambda t: self.sf(np.minimum(t, top)), q, scale=max(self.mean_s, 1e-3 * self.service_s)
        )
