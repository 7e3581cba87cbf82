"""G/M/c: renewal arrivals of any law, exponential servers; D/M/c and E_k/M/c among them."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics import checks
from qtheory.laws import Law
from qtheory.numerics.clock import exponential_after
from qtheory.queues.result import QueueResult
from qtheory.queues.single._renewal import RenewalArrivals
from qtheory.queues.single.excess import require_law

from ._common import exponential_wait, require_stable
from ._found import FoundInService

__all__ = ["GMc", "GMcResult"]


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
    exponential with rate :math:`c\mu(1-\sigma)` or zero. With :math:`\varphi_j=A^*(j\mu)` its probability is

    .. math:: \frac1{P(W>0)}=1+(1-\sigma)\sum_{j=1}^c\binom cj\prod_{i<j}\frac{1-\varphi_i}{\varphi_i}
              \,\frac1{\varphi_j}\,\frac{c(1-\varphi_j)-j}{c(1-\sigma)-j}

    [1]_: a sum of positive terms, for any law and many servers. The variance of the interval may be infinite.
    The law of the number, with P(empty) as ``number_pmf(0)``, is computed when it is asked for.

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
        arrivals = RenewalArrivals(interval=self.interval, service_rate_rps=mu, n_servers=c)
        rate = arrivals.wait_rate_per_s()
        prob_wait = arrivals.prob_wait(rate)
        mean_wait_s = prob_wait / rate
        sigma = float(self.interval.lst(rate))
        found = FoundInService(
            interval=self.interval, service_rate_rps=mu, n_servers=c, prob_wait=prob_wait, sigma=sigma
        )
        return GMcResult(
            exactness="exact",
            route="root of the arrival transform, sum over its values at multiples of the service rate",
            utilization_frac=lam / (c * mu),
            mean_wait_s=mean_wait_s,
            mean_response_s=mean_wait_s + 1.0 / mu,
            mean_number=lam * (mean_wait_s + 1.0 / mu),
            mean_queue=lam * mean_wait_s,
            prob_wait=prob_wait,
            wait=exponential_wait(prob_wait, rate),
            response=exponential_after(prob_wait=prob_wait, wait_rate=rate, service_rate=mu),
            number_pmf=found.present,
            sigma=sigma,
        )
