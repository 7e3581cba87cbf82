"""M/M/1: Poisson arrivals, exponential service, one server."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics import checks
from qtheory.numerics.timelaw import ExponentialSum
from qtheory.queues.result import QueueResult

from ._common import check_little, require_stable

__all__ = ["MM1", "MM1Result"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MM1Result(QueueResult):
    """Steady state of M/M/1.

    Parameters
    ----------
    var_number : float
        Variance of the number present.
    mean_busy_period_s, var_busy_period_s2 : float
        Of a busy period started by one customer.

    Examples
    --------
    >>> MM1(rate_rps=0.5, service_rate_rps=1.0).solve().var_number
    2.0
    """

    var_number: float
    mean_busy_period_s: float
    var_busy_period_s2: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MM1:
    r"""Exact M/M/1, first come first served.

    :math:`P(N=n)=(1-\rho)\rho^n`, :math:`P(W>t)=\rho e^{-(\mu-\lambda)t}`, the response is exponential of
    rate :math:`\mu-\lambda` [1]_.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda`, requests per second, > 0.
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
    .. [1] Kleinrock (1975), "Queueing Systems" I, Wiley, section 3.2.

    Examples
    --------
    >>> answer = MM1(rate_rps=7.5, service_rate_rps=10.0).solve()
    >>> print(f"mean response {answer.mean_response_s:.3f} s, p99 wait {answer.wait.ppf(0.99):.3f} s")
    mean response 0.400 s, p99 wait 1.727 s
    """

    rate_rps: float
    service_rate_rps: float

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps, service_rate_rps=self.service_rate_rps)

    def solve(self) -> MM1Result:
        """The steady state."""
        lam, mu = self.rate_rps, self.service_rate_rps
        require_stable(lam, 1 / mu, way_out="lower the rate or raise service_rate_rps")
        rho, slack = lam / mu, mu - lam
        mean_number = lam / slack
        check_little(lam, 1 / slack, mean_number)
        return MM1Result(
            exactness="exact",
            route="closed form",
            utilization_frac=rho,
            mean_wait_s=rho / slack,
            mean_response_s=1 / slack,
            mean_number=mean_number,
            mean_queue=rho * mean_number,
            prob_wait=rho,
            prob_empty=slack / mu,
            wait=ExponentialSum(weights=(rho,), rates_per_s=(slack,)),
            response=ExponentialSum(weights=(1.0,), rates_per_s=(slack,)),
            number_pmf=lambda n: slack / mu * rho**n if n >= 0 else 0.0,
            var_number=lam * mu / slack**2,
            mean_busy_period_s=1 / slack,
            var_busy_period_s2=(lam + mu) / slack**3,
        )
