"""G/M/c: renewal arrivals of any law, exponential servers; D/M/c and E_k/M/c among them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, roots_legendre

from qtheory.basics import checks
from qtheory.basics.errors import ConvergenceError
from qtheory.laws import Constant, Erlang, Exponential, Law
from qtheory.numerics.clock import exponential_after
from qtheory.numerics.roots import bracketed_root
from qtheory.queues.result import QueueResult
from qtheory.queues.single.excess import Excess, require_law

from ._common import exponential_wait, require_stable
from ._skipfree import binomial_rows, lowest_state, top_share

__all__ = ["GMc", "GMcResult"]

Floats = NDArray[np.float64]

_EDGE = 8.2
_MOST_WORK = 2e7


@dataclass(frozen=True, slots=True, kw_only=True)
class GMcResult(QueueResult):
    """Steady state of G/M/c.

    Parameters
    ----------
    sigma : float
        Ratio of the geometric number that an arrival finds, from c - 1 on.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> from qtheory.queues.multi import GMc
    >>> GMc(interval=Exponential(mean=0.5), service_rate_rps=1.0, n_servers=4).solve().sigma  # the load
    0.5
    """

    sigma: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GMc:
    r"""Exact G/M/c, first come first served: independent intervals, c exponential servers.

    What arrivals find is geometric from c - 1 on, with :math:`\sigma=A^*(c\mu(1-\sigma))`, so the wait is
    exponential with rate :math:`c\mu(1-\sigma)` or zero [1]_. P(wait) needs the states below c: the chain
    goes up by one at most, so they are eliminated from the top in sums of positive terms. For Erlang
    intervals the phases make that a recursion; any other law enters by quadrature.

    Parameters
    ----------
    interval : Law
        Time between arrivals, seconds.
    service_rate_rps : float
        Completions per second :math:`\mu` of a busy server, > 0.
    n_servers : int
        c, >= 1.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    UnstableError
        From `solve` if the arrival rate is not below ``n_servers * service_rate_rps``.
    ConvergenceError
        From `solve` if the law of the interval needs too many points for so many servers.

    References
    ----------
    .. [1] Takacs (1962), "Introduction to the Theory of Queues", Oxford, chapter 2.

    Examples
    --------
    >>> from qtheory.laws import Constant
    >>> answer = GMc(interval=Constant(value=0.5), service_rate_rps=1.0, n_servers=3).solve()
    >>> print(f"{answer.prob_wait:.4f} {answer.mean_wait_s:.4f}")
    0.2211 0.1265
    """

    interval: Law
    service_rate_rps: float
    n_servers: int

    def __post_init__(self) -> None:
        checks.positive(service_rate_rps=self.service_rate_rps)
        checks.integer(n_servers=self.n_servers)
        require_law(interval=self.interval)

    def solve(self) -> GMcResult:
        """The steady state."""
        mu, c = self.service_rate_rps, self.n_servers
        lam = 1.0 / self.interval.mean
        require_stable(lam, 1.0 / mu, c)
        rate = self._spare()
        spare = rate / (c * mu)  # 1 - sigma
        sigma = float(self.interval.lst(rate))
        if isinstance(self.interval, Erlang | Exponential):
            k = self.interval.k if isinstance(self.interval, Erlang) else 1
            prob_wait = _erlang_wait(k, k * lam / mu, c, spare, sigma)
        else:
            prob_wait = self._top_share(spare, sigma) * sigma
        mean_wait_s = prob_wait / rate
        return GMcResult(
            exactness="exact",
            route="root of the arrival transform, chain below c",
            utilization_frac=lam / (c * mu),
            mean_wait_s=mean_wait_s,
            mean_response_s=mean_wait_s + 1.0 / mu,
            mean_number=lam * (mean_wait_s + 1.0 / mu),
            mean_queue=lam * mean_wait_s,
            prob_wait=prob_wait,
            wait=exponential_wait(prob_wait, rate),
            response=exponential_after(prob_wait=prob_wait, wait_rate=rate, service_rate=mu),
            sigma=sigma,
        )

    def _spare(self) -> float:
        """s = c mu (1 - sigma), the root of A_e*(s) = load, with A_e the excess of the interval."""
        excess, top = Excess(law=self.interval), self.n_servers * self.service_rate_rps
        load = 1.0 / (self.interval.mean * top)

        def gap(s: Floats, which: NDArray[np.intp]) -> Floats:
            return excess.lst(s.astype(np.complex128)).real - load

        low = 0.5 * min((1.0 - load) / excess.mean_s, top)  # 1 - s E[A_e] lies below
        return float(bracketed_root(gap, low, top, rtol=1e-14))

    def _points(self) -> tuple[Floats, Floats]:
        """Intervals and weights for averages over the law."""
        if isinstance(self.interval, Constant):
            return np.array([self.interval.mean]), np.ones(1)
        step = min(0.125, 1.0 / math.sqrt(self.n_servers))
        y = np.arange(-_EDGE, _EDGE, step)
        weight = np.exp(-0.5 * y * y)
        return np.asarray(self.interval.ppf(ndtr(y)), dtype=float), weight / weight.sum()

    def _top_share(self, spare: float, sigma: float) -> float:
        """P(an arrival finds c - 1 or more)."""
        mu, c = self.service_rate_rps, self.n_servers
        low = lowest_state(1.0 / (self.interval.mean * mu), c)
        x, weight = self._points()
        size = c - low
        if float(len(x)) * size * size > _MOST_WORK:
            raise ConvergenceError(
                f"interval: {self.interval} needs {len(x)} points for {size} states; use an Erlang law"
            )
        found = np.arange(low, c - 1)  # rows: states below c - 1
        rows = np.zeros((size, size))
        for time, share in zip(x, weight, strict=True):
            decay = mu * float(time)
            rows[:-1] += share * binomial_rows(found + 1, low, c - 1, np.array(decay))
            rows[-1] += share * self._from_top(low, spare, sigma, decay)
        return top_share(rows)

    def _from_top(self, low: int, spare: float, sigma: float, decay: float) -> Floats:
        """From c - 1 and above (geometric) to j = low..c - 1 in ``decay`` mean services.

        After the arrival either c are busy, or k more leave first, a time that is exponential for a geometric
        k; then each of c stays with its own chance.
        """
        c = self.n_servers
        n_points = 24 + 6 * math.ceil(math.sqrt(c))
        node, share = roots_legendre(n_points)
        edges = decay * np.array([0.0, 0.01, 0.1, 0.3, 1.0])
        half = 0.5 * np.diff(edges)[:, None]
        left = (
            0.5 * (edges[1:] + edges[:-1])[:, None] + half * node
        ).ravel()  # time left after the k are gone
        density = c * sigma * np.exp(-c * spare * (decay - left)) * (half * share).ravel()
        alive = np.append(left, decay)
        chances = binomial_rows(np.full(alive.size, c), low, c - 1, alive)
        return spare * np.asarray(chances[-1] + density @ chances[:-1], dtype=float)


def _erlang_wait(k: int, rate: float, c: int, spare: float, sigma: float) -> float:
    """P(wait) for Erlang-k intervals, from the balance of phases: rate (in mean services) up, k down.

    State m = k n + phase. Across the cut above m: rate p_m = sum over i = 1..k of p_{m+i} min(n, c).
    """
    top = k * c - 1
    down = np.minimum((np.arange(top + k)) // k, c) / rate  # (top + k,)
    p = np.zeros(top + k)
    p[top:] = sigma ** (np.arange(k) / k)  # geometric from k c - 1 on
    for m in range(top - 1, -1, -1):
        p[m] = p[m + 1 : m + k + 1] @ down[m + 1 : m + k + 1]
        if p[m] > 1e200:
            p[m:] *= 1e-200
    found_below = float(p[k - 1 : top : k].sum())  # by arrivals: last phase, n < c - 1
    found_top = float(p[top]) / spare  # n = c - 1, c, ...
    return found_top * sigma / (found_below + found_top)
