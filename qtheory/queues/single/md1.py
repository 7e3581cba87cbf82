"""M/D/1: every service takes the same time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import pdtrc

from qtheory.basics import checks
from qtheory.numerics.roots import bracketed_root, quantile
from qtheory.queues.result import QueueResult

from ._common import check_little, require_stable

__all__ = ["MD1", "DeterministicWait", "MD1Result"]

Floats = NDArray[np.float64]

_EXACT_STATES = 120  # beyond them the number in system is geometric to all digits
_POISSON_TERMS = 40  # arrivals in less than one service at a load below 1


@lru_cache(maxsize=256)
def _number_tail(load: float) -> tuple[Floats, float]:
    r"""P(N > n) for n = 0.._EXACT_STATES - 1, and the ratio :math:`1/z_0` of the geometric rest.

    Cuts between n and n+1 give :math:`\pi_{n+1}a_0=\pi_0P(A>n)+\sum_{i=1}^n\pi_iP(A>n-i+1)`: no subtraction.
    """
    n = np.arange(_EXACT_STATES)
    more = pdtrc(n, load)  # P(A > n)
    pi = np.zeros(_EXACT_STATES)
    pi[0] = 1.0 - load
    with np.errstate(under="ignore"):
        for k in range(_EXACT_STATES - 1):
            up = pi[0] * more[k] + (pi[1 : k + 1] @ more[k:0:-1] if k else 0.0)
            pi[k + 1] = up * math.exp(load)
    y = _decay_root(load)
    tail = np.empty(_EXACT_STATES)
    tail[-1] = pi[-1] / y  # sum of the geometric rest
    with np.errstate(under="ignore"):
        tail[:-1] = tail[-1] + np.cumsum(pi[:0:-1])[::-1]
    return tail, 1.0 / (1.0 + y)


def _decay_root(load: float) -> float:
    """The y > 0 with log(1 + y) = load y: the tail of the number falls by 1 + y a step."""

    def gap(y: Floats, which: NDArray[np.intp]) -> Floats:
        return np.log1p(y) - load * y

    low, high = (1.0 - load) / load, 2.0 * (1.0 - load) / load
    while gap(np.array([high]), np.zeros(1, dtype=np.intp))[0] > 0:
        high *= 2.0
    return float(bracketed_root(gap, low, high, rtol=1e-15))


@dataclass(frozen=True, slots=True, kw_only=True)
class DeterministicWait:
    r"""Exact law of the wait in M/D/1 (with ``shift_s``: of the response), by a sum of positive terms.

    For :math:`t=kD-u`, :math:`0<u\le D`, the tail is
    :math:`P(W>t)=P(J\ge k)+\sum_{j<k}P(J=j)\,P(N>k-j)` with J Poisson of mean :math:`\lambda u` [1]_, N the
    number in the system: no alternating series, all digits at any load and however deep in the tail.

    Parameters
    ----------
    load : float
        :math:`\rho=\lambda D`, in (0, 1).
    service_s : float
        D, seconds, > 0.
    shift_s : float
        Added to the wait, seconds, >= 0.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    References
    ----------
    .. [1] Franx (2001), "A simple solution for the M/D/c waiting time distribution", Oper. Res. Letters 29,
       221-229.

    Examples
    --------
    >>> wait = DeterministicWait(load=0.5, service_s=1.0)
    >>> float(wait.sf(3.0).round(9)), float(wait.ppf(0.9).round(8))
    (0.0152513, 1.51574484)
    """

    load: float
    service_s: float
    shift_s: float = 0.0

    def __post_init__(self) -> None:
        checks.fraction(load=self.load)
        checks.positive(service_s=self.service_s)
        checks.non_negative(shift_s=self.shift_s)
        require_stable(self.load, 1.0)

    @property
    def mean_s(self) -> float:
        """Mean, seconds."""
        return self.shift_s + self.service_s * self.load / (2 * (1 - self.load))

    @property
    def var_s2(self) -> float:
        """Variance, seconds squared."""
        rho, d = self.load, self.service_s
        return d**2 * (rho**2 / (4 * (1 - rho) ** 2) + rho / (3 * (1 - rho)))

    def sf(self, t: ArrayLike) -> Floats:
        """P(T > t), broadcasting over t in seconds."""
        late = (np.asarray(t, dtype=float) - self.shift_s) / self.service_s  # in services
        tail, ratio = _number_tail(self.load)
        k = np.floor(np.maximum(late, 0.0)) + 1.0
        mean = self.load * (k - np.maximum(late, 0.0))
        with np.errstate(under="ignore"):
            total = pdtrc(k - 1.0, mean)
            weight = np.exp(-mean)
            for j in range(_POISSON_TERMS):
                left = k - j
                beyond = np.maximum(left - (_EXACT_STATES - 1), 0.0)
                known = tail[np.clip(left, 0, _EXACT_STATES - 1).astype(int)]
                total = total + np.where(left > 0, weight * known * ratio**beyond, 0.0)
                weight = weight * mean / (j + 1)
        return np.where(late < 0, 1.0, total)

    def ppf(self, q: ArrayLike) -> Floats:
        """Smallest t >= 0 with P(T <= t) >= q, broadcasting over q in (0, 1)."""
        wait = DeterministicWait(load=self.load, service_s=self.service_s)
        return self.shift_s + quantile(wait.sf, q, scale=self.service_s / (2 * (1 - self.load)))


@dataclass(frozen=True, slots=True, kw_only=True)
class MD1Result(QueueResult):
    """Steady state of M/D/1.

    Parameters
    ----------
    var_number : float
        Variance of the number present.
    mean_busy_period_s, var_busy_period_s2 : float
        Of a busy period started by one customer.

    Examples
    --------
    >>> round(MD1(rate_rps=0.5, service_s=1.0).solve().mean_busy_period_s, 9)
    2.0
    """

    var_number: float
    mean_busy_period_s: float
    var_busy_period_s2: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MD1:
    r"""Exact M/D/1: Poisson arrivals, one server, a constant service time, first come first served.

    Means by Pollaczek-Khinchine; the law of the wait by `DeterministicWait`, to all digits.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda`, requests per second, > 0.
    service_s : float
        Service time :math:`D`, seconds, > 0.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    UnstableError
        From `solve` if the load is 1 or more.

    References
    ----------
    .. [1] Erlang (1909), "The theory of probabilities and telephone conversations", Nyt Tidsskrift for
       Matematik B 20, 33-39.

    Examples
    --------
    >>> answer = MD1(rate_rps=8.0, service_s=0.1).solve()
    >>> print(f"{answer.mean_wait_s:.3f} s on average, {answer.wait.ppf(0.99):.3f} s at the 99th percentile")
    0.200 s on average, 1.036 s at the 99th percentile
    """

    rate_rps: float
    service_s: float

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps, service_s=self.service_s)

    def solve(self) -> MD1Result:
        """The steady state."""
        lam, d = self.rate_rps, self.service_s
        require_stable(lam, d)
        rho = lam * d
        wait = DeterministicWait(load=rho, service_s=d)
        response = DeterministicWait(load=rho, service_s=d, shift_s=d)
        mean_number = rho + rho**2 / (2 * (1 - rho))
        check_little(lam, response.mean_s, mean_number)
        return MD1Result(
            exactness="exact",
            route="Pollaczek-Khinchine; percentiles by Franx's sum over the number present",
            utilization_frac=rho,
            mean_wait_s=wait.mean_s,
            mean_response_s=response.mean_s,
            mean_number=mean_number,
            mean_queue=lam * wait.mean_s,
            prob_wait=rho,
            prob_empty=1 - rho,
            wait=wait,
            response=response,
            number_pmf=lambda n: _number_pmf(rho, n),
            var_number=mean_number + lam**2 * response.var_s2,
            mean_busy_period_s=d / (1 - rho),
            var_busy_period_s2=rho * d**2 / (1 - rho) ** 3,
        )


def _number_pmf(load: float, n: int) -> float:
    """P(N = n)."""
    tail, ratio = _number_tail(load)
    if n < 0:
        return 0.0
    if n == 0:
        return 1.0 - load
    if n < _EXACT_STATES:
        return float(tail[n - 1] - tail[n])
    return float(tail[-1] * ratio ** (n - _EXACT_STATES) * (1 - ratio))
