"""Processor sharing with a limit on how many are served at once."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics import checks
from qtheory.laws.exponential import Exponential
from qtheory.laws.law import Law
from qtheory.numerics.timelaw import ExponentialSum
from qtheory.queues.result import QueueResult
from qtheory.queues.single.excess import require_law
from qtheory.queues.single.workload import Workload

__all__ = ["LimitedProcessorSharing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedProcessorSharing:
    r"""M/G/1 where at most k share the server and the others wait: exact for exponential services.

    Otherwise an approximation of the mean,
    :math:`E[T]\approx\frac{E[S]}{1-\rho}\left(1-\rho^k+\frac{1+c_s^2}2\rho^k\right)` [1]_: processor sharing
    until k are present, first come first served behind. It is exact for k = 1 and for k without limit.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    service : Law
        Time S that a customer alone would need, seconds.
    limit : int
        k, customers in service at most, >= 1.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    UnstableError
        From `solve` if the load is 1 or more.

    References
    ----------
    .. [1] Avi-Itzhak, Halfin (1988), "Expected response times in a non-symmetric time sharing queue with a
       limited number of service positions", 12th International Teletraffic Congress.

    Examples
    --------
    >>> from qtheory.laws import Constant
    >>> answer = LimitedProcessorSharing(rate_rps=0.8, service=Constant(value=1.0), limit=4).solve()
    >>> print(f"{answer.mean_response_s:.3f}")
    3.976
    """

    rate_rps: float
    service: Law
    limit: int

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps)
        checks.integer(limit=self.limit)
        require_law(service=self.service)

    def _exponential(self, rho: float) -> QueueResult:
        """Exponential services: a server in steps that takes the same time for all together."""
        from qtheory.queues.multi import StepServer  # that package takes results from this one

        mean_s, limit = self.service.mean, self.limit
        steps = StepServer(
            rate_rps=self.rate_rps, slope_s=1.0, mean_steps=mean_s, max_running=self.limit
        ).solve()
        spare = (1 - rho) / mean_s
        many = rho**limit  # P(at least k present)
        return QueueResult(
            exactness="exact",
            route="birth-death chain of exponential services; law of the response by transform inversion",
            utilization_frac=rho,
            mean_wait_s=many / spare,
            mean_response_s=1 / spare,
            mean_number=rho / (1 - rho),
            mean_queue=self.rate_rps * many / spare,
            var_number=rho / (1 - rho) ** 2,
            prob_wait=many,
            prob_empty=1 - rho,
            wait=ExponentialSum(weights=(many,), rates_per_s=(spare,)),
            response=steps.response,
            number_pmf=lambda n: (1 - rho) * rho**n if n >= 0 else 0.0,
        )

    def solve(self) -> QueueResult:
        """The steady state; for services that are not exponential the means alone."""
        rho = Workload(rate_rps=self.rate_rps, service=self.service).load
        full = rho**self.limit
        spread = (1 + self.service.scv) / 2
        number = rho / (1 - rho) * (1 - full + spread * full)
        mean = number / self.rate_rps
        if isinstance(self.service, Exponential):
            return self._exponential(rho)
        is_exact = self.limit == 1
        return QueueResult(
            exactness="exact" if is_exact else "approximation",
            route="sharing below the limit, first come first served behind it",
            utilization_frac=rho,
            mean_response_s=mean,
            mean_number=number,
            prob_empty=1 - rho,
        )
