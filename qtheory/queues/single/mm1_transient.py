"""M/M/1 at a given time, at any load."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chndtr

from qtheory.basics import checks
from qtheory.basics.errors import ConvergenceError
from qtheory.numerics.quadrature import graded_panels
from qtheory.queues.result import QueueResult

__all__ = ["MM1Transient"]

Floats = NDArray[np.float64]

_AMPLIFIED = math.log(1e3)
_LONGEST = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class MM1Transient:
    r"""Exact M/M/1 at time t from a given number of customers, at any load, also above 1.

    :math:`p_{in}(t)=p_n+\frac2\pi\rho^{(n-i)/2}\int_0^\pi\frac\mu{\gamma(y)}e^{-\gamma(y)t}a_i(y)a_n(y)dy`
    with :math:`\gamma=\lambda+\mu-2\sqrt{\lambda\mu}\cos y`, :math:`a_k=\sin ky-\sqrt\rho\sin(k+1)y` and
    :math:`p_n` the steady state, 0 from :math:`\rho=1` on [1]_. The integrand is periodic, so the trapezoidal
    rule is exact to rounding. Far from the start the factor in front would magnify that rounding; there the
    reflection principle takes over, with the law of the difference of two Poisson counts.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda`, requests per second, > 0.
    service_rate_rps : float
        Service rate :math:`\mu`, requests per second, > 0.
    time_s : float
        Time since the start, seconds, >= 0.
    initial_number : int
        Customers present at the start, >= 0.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    ConvergenceError
        From `number_pmf` far from the start after more than a million events.

    References
    ----------
    .. [1] Takacs (1962), "Introduction to the Theory of Queues", Oxford University Press, chapter 1.

    Examples
    --------
    >>> answer = MM1Transient(rate_rps=1.2, service_rate_rps=1.0, time_s=5.0).solve()
    >>> print(f"{answer.prob_empty:.6f} {answer.mean_number:.6f}")
    0.173375 2.715131
    """

    rate_rps: float
    service_rate_rps: float
    time_s: float
    initial_number: int = 0

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps, service_rate_rps=self.service_rate_rps)
        checks.non_negative(time_s=self.time_s)
        checks.at_least(0, initial_number=self.initial_number)

    def number_pmf(self, n: int) -> float:
        """P(N(t) = n)."""
        if n < 0:
            return 0.0
        i, rho, t = self.initial_number, self.rate_rps / self.service_rate_rps, self.time_s
        if self._spread(n) > _AMPLIFIED:
            return max(float(self._tail(n - 1.0) - self._tail(float(n))), 0.0)

        def term(y: Floats, gamma: Floats) -> Floats:
            return np.exp(-gamma * t) / gamma * self._a(i, y) * self._a(n, y)

        limit = (1 - rho) * rho**n if rho < 1 else 0.0
        moving = math.exp(self._spread(n)) * self.service_rate_rps * self._integral(term, n)
        return max(limit + moving, 0.0)  # rounding where the two cancel

    def _spread(self, n: int) -> float:
        """Logarithm of the factor in front of the integral, which magnifies its rounding."""
        return float(n - self.initial_number) / 2 * math.log(self.rate_rps / self.service_rate_rps)

    def _tail(self, n: ArrayLike) -> Floats:
        """P(N > n) = P(Y > n - i) + rho^(n+1) P(Y < -(n+1+i)), Y the difference of two Poisson counts."""
        up, down = self.rate_rps * self.time_s, self.service_rate_rps * self.time_s
        if up + down > _LONGEST:
            raise ConvergenceError(
                f"time_s={self.time_s:g}: more than {_LONGEST:g} events; ask for a shorter time"
            )
        n, i = np.asarray(n, dtype=float), self.initial_number
        above = np.where(
            n >= i,
            chndtr(2 * up, 2 * np.maximum(n + 1 - i, 1), 2 * down),
            1 - chndtr(2 * down, 2 * np.maximum(i - n, 1), 2 * up),
        )
        with np.errstate(over="ignore", under="ignore"):
            factor = np.exp(np.minimum((n + 1) * math.log(up / down), 700.0)) if up else 0.0
            return np.where(n < 0, 1.0, above + factor * chndtr(2 * down, 2 * (n + 2 + i), 2 * up))

    def mean_number(self) -> float:
        r"""E[N(t)]: :math:`i+(\lambda-\mu)t+\mu\int_0^tp_{i0}(u)du`, or the steady state minus the rest."""
        i, lam, mu, t = self.initial_number, self.rate_rps, self.service_rate_rps, self.time_s
        rho = lam / mu
        if self._spread(0) > _AMPLIFIED:
            last = i + lam * t + 12 * math.sqrt((lam + mu) * t) + 12
            return float(self._tail(np.arange(int(last))).sum())
        below = rho < 1

        def term(y: Floats, gamma: Floats) -> Floats:
            grown = -np.exp(-gamma * t) if below else -np.expm1(-gamma * t)
            return grown / gamma**2 * self._a(i, y) * self._a(0, y)

        moving = mu**2 * math.exp(self._spread(0)) * self._integral(term, 0)
        return rho / (1 - rho) + moving if below else i + (lam - mu) * t + moving

    def solve(self) -> QueueResult:
        """The state at ``time_s``."""
        empty = self.number_pmf(0)
        return QueueResult(
            exactness="exact",
            route=f"spectral integral at t={self.time_s:g} s",
            utilization_frac=1 - empty,
            mean_number=self.mean_number(),
            prob_empty=empty,
            number_pmf=self.number_pmf,
        )

    def _a(self, k: int, y: Floats) -> Floats:
        root = np.sqrt(self.rate_rps / self.service_rate_rps)
        return np.asarray(np.sin(k * y) - root * np.sin((k + 1) * y))

    def _integral(self, term: Callable[[Floats, Floats], Floats], n: int) -> float:
        """(2 / pi) times the integral over (0, pi): the peak near 0 gets ever shorter panels."""
        lam, mu = self.rate_rps, self.service_rate_rps
        y, weight = graded_panels(np.pi, waves=n + self.initial_number)
        gamma = (np.sqrt(lam) - np.sqrt(mu)) ** 2 + 4 * np.sqrt(lam * mu) * np.sin(y / 2) ** 2
        with np.errstate(under="ignore"):
            return float(2 / np.pi * (weight @ term(y, gamma)))
