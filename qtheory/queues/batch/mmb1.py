"""M/M^[1,b]/1: batches of any size take one exponential time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import UnstableError
from qtheory.numerics.clock import exponential_after
from qtheory.numerics.roots import bracketed_root
from qtheory.numerics.timelaw import ExponentialSum

from ._starts import check_flow
from .batch_queue import BatchResult

__all__ = ["MMb1"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class MMb1:
    r"""Exact M/M^[1,b]/1: up to ``max_batch`` at once, exponential service, greedy.

    The number waiting behind a busy server is geometric with the ratio r, the root in (0, 1) of
    :math:`\lambda(1-r)=\mu r(1-r^b)`; so the wait is exponential with rate :math:`\mu(1-r^b)` or zero [1]_.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    service_rate_rps : float
        Batches per second :math:`\mu` of a busy server, whatever their size, > 0.
    max_batch : int
        Largest batch b, >= 1.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    UnstableError
        From `solve` if the rate is not below ``max_batch * service_rate_rps``.

    References
    ----------
    .. [1] Gross, Harris (1998), "Fundamentals of Queueing Theory", 3rd ed., section 3.2.2.

    Examples
    --------
    >>> answer = MMb1(rate_rps=2.4, service_rate_rps=1.0, max_batch=3).solve()
    >>> print(f"{answer.mean_wait_s:.4f} s, p99 {answer.wait.ppf(0.99):.4f} s")
    3.3111 s, p99 15.7797 s
    """

    rate_rps: float
    service_rate_rps: float
    max_batch: int

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps, service_rate_rps=self.service_rate_rps)
        checks.integer(max_batch=self.max_batch)

    @property
    def capacity_rps(self) -> float:
        """Rate of full batches; stable strictly below it."""
        return self.max_batch * self.service_rate_rps

    def solve(self) -> BatchResult:
        """The steady state."""
        lam, mu, b = self.rate_rps, self.service_rate_rps, self.max_batch
        if lam >= self.capacity_rps:
            raise UnstableError(
                f"rate_rps={lam:g} is not below capacity_rps={self.capacity_rps:g}; "
                "lower the rate, raise max_batch or service_rate_rps"
            )
        fall = self._fall()  # -ln r
        rest, gone = -math.expm1(-fall), -math.expm1(-b * fall)  # 1 - r, 1 - r^b
        idle = mu * rest / (lam + mu * rest)
        busy = lam / (lam + mu * rest)
        mean_wait_s = busy / (mu * gone)
        size = np.arange(1, b + 1)
        batch = rest * np.exp(-fall * size)  # as many as wait at the end of a service ...
        batch[-1] = 1.0 - gone
        batch[0] += rest  # ... or the first to come to an idle server
        mean_batch = float(batch @ size)
        check_flow(lam, busy * mu * mean_batch)
        return BatchResult(
            exactness="exact",
            route="geometric number waiting",
            utilization_frac=busy,
            mean_wait_s=mean_wait_s,
            mean_response_s=mean_wait_s + 1.0 / mu,
            mean_number=lam * (mean_wait_s + 1.0 / mu),
            mean_queue=lam * mean_wait_s,
            prob_wait=busy,
            prob_empty=idle,
            wait=ExponentialSum(weights=(busy,), rates_per_s=(mu * gone,)),
            response=exponential_after(prob_wait=busy, wait_rate=mu * gone, service_rate=mu),
            number_pmf=lambda n: idle if n == 0 else self._present(n, fall, busy),
            capacity_rps=self.capacity_rps,
            mean_batch_size=mean_batch,
            mean_batch_seen=float(batch @ size**2) / mean_batch,
            prob_server_idle=idle,
            batch_pmf=lambda k: float(batch[k - 1]) if 1 <= k <= b else 0.0,
        )

    def _present(self, n: int, fall: float, busy: float) -> float:
        r"""P(n present), n >= 1.

        Services start with one present or :math:`x\ge1`, with the chances :math:`1-r` and
        :math:`(1-r)r^x`; each more has come before the end with :math:`a=\lambda/(\lambda+\mu)`. So it is
        :math:`\frac{\mu}{\lambda}P(\text{busy})(1-r)\left(a^n+a\sum_xr^xa^{n-x}\right)`.
        """
        if n < 0:
            return 0.0
        lam, mu = self.rate_rps, self.service_rate_rps
        come = -math.log1p(mu / lam)  # ln a
        gap = -come - fall  # ln r / a
        ratio = math.expm1(-n * gap) / math.expm1(-gap) if gap > 1e-300 else float(n)
        many = math.exp(come - fall * n) * ratio
        return busy * mu / lam * -math.expm1(-fall) * (math.exp(n * come) + many)

    def _fall(self) -> float:
        """-ln r from lam (exp(y) - 1) = mu (1 - exp(-b y))."""
        lam, mu, b = self.rate_rps, self.service_rate_rps, self.max_batch

        def gap(y: Floats, which: Indices) -> Floats:
            return mu / lam * -np.expm1(-b * y) - np.expm1(y)

        high = (1.0 + 1e-12) * math.log1p(mu / lam)  # where the first term would be 1
        low = min((b * mu - lam) / (lam + b * b * mu), 0.5 * high)
        while float(gap(np.array([low]), np.zeros(1, dtype=np.intp))[0]) <= 0:
            low *= 0.5
        return float(bracketed_root(gap, low, high, rtol=1e-15))
