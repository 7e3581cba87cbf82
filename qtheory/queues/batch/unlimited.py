"""M/D^[1,inf]/1: a server that takes everybody who waits, however many they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ConvergenceError, UnstableError
from qtheory.numerics.markov import poisson_reach, stationary
from qtheory.numerics.taillaw import TailLaw

from ._number import unlimited_number_pmf
from .batch_queue import BatchResult

__all__ = ["UnlimitedBatchQueue"]

Floats = NDArray[np.float64]

_CUT = 1e-17  # proven bound on the probability of the batches left out
_NOTHING, _LOG_NOTHING = 1e-19, -80.0
_MOST_STEPS = 2_000_000
_SMALL = 1e-4
_CHECK = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlimitedBatchQueue:
    r"""Exact M/D^[1,inf]/1: a free server takes all who wait; b of them take ``base_s + slope_s * b``.

    The batch sizes are a Markov chain: arrivals during a batch make the next. With
    :math:`z_{k+1}=e^{\lambda\alpha(z_k-1)}`, :math:`z_0=z>1` and :math:`u=z-1`, the chain is cut at n with
    :math:`P(B\ge n)\le z^{-n}\prod_k(e^{\lambda\tau_0u_k}+u_k)` below 1e-17. Beyond ``max_states`` the means
    remain exact (from P(nobody arrives), by the same iteration from z = 0) and the laws are left out [1]_.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    base_s : float
        Seconds a batch, :math:`\tau_0\ge0`.
    slope_s : float
        Seconds a member, :math:`\alpha\ge0`; not both zero.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    UnstableError
        From `solve` if ``rate_rps * slope_s`` is 1 or more.

    References
    ----------
    .. [1] Inoue (2021), "Queueing analysis of GPU-based inference servers with dynamic batching",
       Perform. Eval. 147, arXiv:1912.06322 (its alpha is the slope, its tau_0 the base).

    Examples
    --------
    >>> queue = UnlimitedBatchQueue(rate_rps=800.0, base_s=0.0018874, slope_s=0.0001438)
    >>> answer = queue.solve()
    >>> print(f"{1e3 * answer.mean_response_s:.4f} ms, bound {1e3 * queue.bound_response_s:.4f} ms")
    3.2430 ms, bound 3.3532 ms
    """

    rate_rps: float
    base_s: float
    slope_s: float

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps)
        checks.non_negative(base_s=self.base_s, slope_s=self.slope_s)
        if self.base_s + self.slope_s <= 0:
            raise ConfigError("base_s, slope_s: one of them must be > 0")

    @property
    def capacity_rps(self) -> float:
        """Stable strictly below 1 / slope."""
        return 1.0 / self.slope_s if self.slope_s > 0 else math.inf

    @property
    def bound_phi0_s(self) -> float:
        r"""Upper bound of the mean response, :math:`\frac{\alpha+\tau_0}{2(1-\rho)}
        \left(1+2\lambda\tau_0+\frac{1-\lambda\tau_0}{1+\rho}\right)`, :math:`\rho=\lambda\alpha`, seconds."""
        self._require_stable()
        rho, base = self.rate_rps * self.slope_s, self.rate_rps * self.base_s
        inner = 1.0 + 2.0 * base + (1.0 - base) / (1.0 + rho)
        return (self.slope_s + self.base_s) / (2.0 * (1.0 - rho)) * inner

    @property
    def bound_phi1_s(self) -> float:
        r"""Upper bound of the mean response, :math:`\frac{3\tau_0}{2(1-\rho)}
        +\frac\alpha2\frac{\rho+2}{1-\rho^2}`, seconds."""
        self._require_stable()
        rho = self.rate_rps * self.slope_s
        return 1.5 * self.base_s / (1.0 - rho) + 0.5 * self.slope_s * (rho + 2.0) / (1.0 - rho * rho)

    @property
    def bound_response_s(self) -> float:
        """The smaller of the two bounds, seconds."""
        return min(self.bound_phi0_s, self.bound_phi1_s)

    def _require_stable(self) -> None:
        if self.rate_rps >= self.capacity_rps:
            raise UnstableError(
                f"rate_rps={self.rate_rps:g} is not below capacity_rps={self.capacity_rps:g}; "
                "lower the rate or slope_s"
            )

    def solve(self, *, max_states: int = 4000) -> BatchResult:
        """The steady state, on at most ``max_states`` batch sizes."""
        self._require_stable()
        checks.integer(max_states=max_states)
        n = self._states()
        sizes = _Sizes(rate=self.rate_rps, base_s=self.base_s, slope_s=self.slope_s, n=n)
        known = n <= max_states
        nobody = sizes.nobody if known else self._nobody()
        lam, rho = self.rate_rps, self.rate_rps * self.slope_s
        base = lam * self.base_s
        first = (base + nobody) / (1.0 - rho)
        second = (base * base + 2.0 * base * rho * first + first) / (1.0 - rho * rho)
        if known and abs(sizes.mean / first - 1.0) > _CHECK:
            raise ConvergenceError(f"mean batch {sizes.mean:.12g} from the chain, {first:.12g} from the flow")
        pairs = second - first  # E[B (B - 1)]
        mean_wait_s = pairs / (2.0 * lam * first)
        mean_response_s = mean_wait_s + self.base_s + self.slope_s * second / first
        idle_frac = nobody / first  # idle time a cycle over its length: 1 / lam against E[B] / lam
        return BatchResult(
            exactness="exact",
            route=f"chain of {n} batch sizes" if known else f"means only: laws need {n} batch sizes",
            utilization_frac=1.0 - idle_frac,
            mean_wait_s=mean_wait_s,
            mean_response_s=mean_response_s,
            mean_number=lam * mean_response_s,
            mean_queue=lam * mean_wait_s,
            prob_wait=1.0 - idle_frac,
            prob_empty=idle_frac,
            wait=sizes.wait_law(mean_wait_s) if known else None,
            response=sizes.response_law(mean_response_s) if known else None,
            number_pmf=sizes.number_pmf() if known else None,
            capacity_rps=self.capacity_rps,
            mean_batch_size=first,
            mean_batch_seen=second / first,
            prob_server_idle=idle_frac,
            batch_pmf=sizes.batch_pmf,
        )

    def _states(self) -> int:
        """Smallest n for which the bound on P(B >= n) is below the cut."""
        rho, base = self.rate_rps * self.slope_s, self.rate_rps * self.base_s
        top = 2.0 * (1.0 - rho) / rho**2 if rho > 0.05 else 20.0
        u = top * np.geomspace(1e-3, 1.0, 40)
        log_z, log_bound = np.log1p(u), np.zeros(u.size)
        best = math.inf
        while u.size:
            small = u < _SMALL
            if small.any():
                rest = (1.0 + base) * _fallen(u[small], rho)
                best = min(best, float(((log_bound[small] + rest - math.log(_CUT)) / log_z[small]).min()))
            later = np.expm1(rho * u)
            going = ~small & (later < u)  # what rises once rises for ever
            log_bound = (log_bound + base * u + np.log1p(u * np.exp(-base * u)))[going]
            u, log_z = later[going], log_z[going]
        return int(min(best, 1e15)) + 2

    def _nobody(self) -> float:
        """P(nobody arrives during a batch), from the iteration that starts with z = 0."""
        rho, base = self.rate_rps * self.slope_s, self.rate_rps * self.base_s
        u, log_product, total = 1.0, 0.0, 0.0
        for _ in range(_MOST_STEPS):
            weight = math.exp(log_product)
            total += u * weight
            log_product -= base * u
            u = -math.expm1(-rho * u)
            if u * (1.0 + base) < 1e-16 * (1.0 - rho) or log_product < -45.0:
                return math.exp(log_product) / total
        raise ConvergenceError(f"load {rho:.9g} is too close to 1; lower the rate")


def _fallen(u: Floats, rho: float) -> Floats:
    r"""Bound on u + e^{rho u} - 1 + ... for small u; infinite where it may not fall.

    :math:`e^x-1\le x/(1-x/2)` makes the reciprocals a linear recursion; its sum by Euler and Maclaurin.
    """
    if rho < _SMALL:
        return u / (1.0 - 2.0 * rho)
    limit, fall = 0.5 * rho / (1.0 - rho), -math.log(rho)
    found = np.full(u.shape, np.inf)
    falls = u * limit < 1
    u = u[falls]
    ahead = 1.0 / u - limit
    found[falls] = np.log1p(limit / ahead) / (limit * fall) + u / 2 + fall * ahead * u**2 / 12
    return found * (1.0 + _SMALL**2)


@dataclass(frozen=True, kw_only=True)
class _Sizes:
    """The chain of batch sizes 1..n and the laws that follow from it."""

    rate: float
    base_s: float
    slope_s: float
    n: int

    @cached_property
    def _service_s(self) -> Floats:
        return self.base_s + self.slope_s * np.arange(1.0, self.n + 1)

    @cached_property
    def _arrivals(self) -> Floats:
        """P(k arrivals in a batch), by its size and by k = 1, 2, ..., n; next to nothing is nothing."""
        k, mean = np.arange(1.0, self.n + 1), self.rate * self._service_s[:, None]
        logs = k * np.log(mean) - gammaln(k + 1.0) - mean
        likely = logs > _LOG_NOTHING
        found = np.zeros_like(logs)
        found[likely] = np.exp(logs[likely])
        return found

    @cached_property
    def _pmf(self) -> Floats:
        p, mean = self._arrivals.copy(), self.rate * self._service_s
        p[:, 0] += np.exp(-mean)
        p[:, -1] = poisson_reach(self.n, mean) if self.n > 1 else 1.0
        usual = self.rate * self.base_s / (1.0 - self.rate * self.slope_s)
        return stationary(p, typical=int(min(max(usual, 1.0), self.n)) - 1)

    def batch_pmf(self, k: int) -> float:
        """P(B = k) over services."""
        return float(self._pmf[k - 1]) if 1 <= k <= self.n else 0.0

    @cached_property
    def nobody(self) -> float:
        """P(nobody arrives during a batch)."""
        return float(self._pmf @ np.exp(-self.rate * self._service_s))

    @cached_property
    def mean(self) -> float:
        """E[B]."""
        return float(self._pmf @ np.arange(1, self.n + 1))

    def number_pmf(self) -> Callable[[int], float]:
        """P(n present) over time."""
        return unlimited_number_pmf(self._pmf, self._service_s, self.rate, self.nobody)

    def wait_law(self, mean_s: float) -> TailLaw:
        """Who arrives in a service waits for the rest of it; who finds the server idle does not wait."""
        share = self.rate / self.mean

        def tail(t: Floats) -> Floats:
            return share * (np.maximum(self._service_s - t[:, None], 0.0) @ self._pmf)

        second = share * float(self._pmf @ self._service_s**3) / 3.0
        return TailLaw(
            tail=tail, mean_s=mean_s, variance_s2=second - mean_s**2, scale_s=float(self._service_s[0])
        )

    def response_law(self, mean_s: float) -> TailLaw:
        """A uniform share of the service found, then a batch of all who arrive in it."""
        weight = self._pmf[:, None] * self._arrivals * np.arange(1, self.n + 1) / self.mean  # (n, n)
        row, column = np.nonzero(weight > _NOTHING)
        share, found_s, own_s = weight[row, column], self._service_s[row], self._service_s[column]
        free, alone_s = self.nobody / self.mean, float(self._service_s[0])

        def tail(t: Floats) -> Floats:
            late = [share @ np.clip((found_s - (x - own_s)) / found_s, 0.0, 1.0) for x in t]
            return np.asarray(np.array(late) + free * (t < alone_s), dtype=float)

        second = float(share @ (found_s**2 / 3.0 + found_s * own_s + own_s**2)) + free * alone_s**2
        return TailLaw(tail=tail, mean_s=mean_s, variance_s2=second - mean_s**2, scale_s=mean_s)
