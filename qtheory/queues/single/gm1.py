"""GI/M/1: any renewal arrivals, exponential service."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.laws.law import Law
from qtheory.numerics.timelaw import ExponentialSum
from qtheory.queues.result import QueueResult

from ._common import check_little, require_stable
from ._renewal import RenewalArrivals
from .excess import require_law

__all__ = ["GM1", "GM1Result"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class GM1Result(QueueResult):
    """Steady state of GI/M/1.

    Parameters
    ----------
    sigma : float
        Ratio of the geometric number that an arrival finds.
    var_number : float
        Variance of the number present at a random time.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> round(GM1(interval=Exponential(mean=2.0), service_rate_rps=1.0).solve().sigma, 9)  # M/M/1
    0.5
    """

    sigma: float
    var_number: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GM1:
    r"""Exact GI/M/1, first come first served.

    An arrival finds a geometric number of ratio :math:`\sigma=A^*(\mu(1-\sigma))`, so
    :math:`P(W>t)=\sigma e^{-\mu(1-\sigma)t}` [1]_. With the excess of the interval the root reads
    :math:`A_e^*(\mu(1-\sigma))=\rho`, which keeps its digits in heavy traffic.

    Parameters
    ----------
    interval : Law
        Time between arrivals A, seconds; a finite second moment.
    service_rate_rps : float
        Service rate :math:`\mu`, requests per second, > 0.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    UnstableError
        From `solve` if the load is 1 or more.

    References
    ----------
    .. [1] Kendall (1953), "Stochastic processes occurring in the theory of queues", Annals of Mathematical
       Statistics 24, 338-354.

    Examples
    --------
    >>> from qtheory.laws import Constant
    >>> answer = GM1(interval=Constant(value=1.25), service_rate_rps=1.0).solve()
    >>> print(f"{answer.mean_wait_s:.4f} s, p99 {answer.wait.ppf(0.99):.4f} s")
    1.6927 s, p99 11.1505 s
    """

    interval: Law
    service_rate_rps: float

    def __post_init__(self) -> None:
        checks.positive(service_rate_rps=self.service_rate_rps)
        require_law(interval=self.interval)

    def solve(self) -> GM1Result:
        """The steady state."""
        lam, mu = 1 / self.interval.mean, self.service_rate_rps
        require_stable(lam, 1 / mu, way_out="lengthen the interval or raise service_rate_rps")
        rho = lam / mu
        slack = RenewalArrivals(interval=self.interval, service_rate_rps=mu, n_servers=1).wait_rate_per_s()
        sigma = float(self.interval.lst(slack))  # 1 - slack / mu without cancellation
        mean_number = rho * mu / slack
        check_little(lam, 1 / slack, mean_number)
        second = rho * (2 - slack / mu) / (slack / mu) ** 2  # E[N^2] of rho (1 - sigma) sigma^(n-1)
        return GM1Result(
            exactness="exact",
            route="root of the arrival transform",
            utilization_frac=rho,
            mean_wait_s=sigma / slack,
            mean_response_s=1 / slack,
            mean_number=mean_number,
            mean_queue=lam * sigma / slack,
            prob_wait=sigma,
            prob_empty=1 - rho,
            wait=ExponentialSum(weights=(sigma,), rates_per_s=(slack,)),
            response=ExponentialSum(weights=(1.0,), rates_per_s=(slack,)),
            number_pmf=lambda n: rho * slack / mu * sigma ** (n - 1) if n > 0 else (1 - rho) * (n == 0),
            sigma=sigma,
            var_number=second - mean_number**2,
        )
