"""M/G/c/c: servers without a queue, any law of the service."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics import checks
from qtheory.laws import Law
from qtheory.numerics.clock import NO_TIME
from qtheory.queues.single.excess import require_law

from .mginf import LawTime
from .mmck import MMcK, MMcKResult

__all__ = ["MGcc"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MGcc:
    """Exact M/G/c/c: who finds all servers busy is lost; any law of the service.

    The number present depends on the mean of the service alone, as in Erlang's loss system [1]_; the
    response of the accepted is their service.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate (Poisson), requests per second, > 0; may exceed what the servers can do.
    service : Law
        Service time, seconds.
    n_servers : int
        c, >= 1.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    References
    ----------
    .. [1] Sevastyanov (1957), "An ergodic theorem for Markov processes and its application to telephone
       systems with refusals", Theory of Probability and its Applications 2, 104-112.

    Examples
    --------
    >>> from qtheory.laws import Constant
    >>> answer = MGcc(rate_rps=8.0, service=Constant(value=1.0), n_servers=10).solve()
    >>> print(f"lost {answer.prob_block:.5f}, mean number {answer.mean_number:.4f}")
    lost 0.12166, mean number 7.0267
    """

    rate_rps: float
    service: Law
    n_servers: int

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps)
        checks.integer(n_servers=self.n_servers)
        require_law(service=self.service)

    def solve(self) -> MMcKResult:
        """The steady state."""
        numbers = MMcK(
            rate_rps=self.rate_rps,
            service_rate_rps=1.0 / self.service.mean,
            n_servers=self.n_servers,
            capacity=self.n_servers,
        ).solve()
        return MMcKResult(
            exactness="exact",
            route="Erlang's loss system, insensitive to the law of the service",
            utilization_frac=numbers.utilization_frac,
            mean_wait_s=0.0,
            mean_response_s=self.service.mean,
            mean_number=numbers.mean_number,
            mean_queue=0.0,
            prob_wait=0.0,
            prob_empty=numbers.prob_empty,
            wait=NO_TIME,
            response=LawTime(law=self.service),
            number_pmf=numbers.number_pmf,
            prob_block=numbers.prob_block,
            throughput_rps=numbers.throughput_rps,
            var_number=numbers.var_number,
        )
