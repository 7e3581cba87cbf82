"""M/M/c: several equal exponential servers and one queue."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics import checks
from qtheory.numerics.clock import exponential_after
from qtheory.numerics.markov import poisson_below, poisson_pmf
from qtheory.queues.result import QueueResult

from ._common import exponential_wait, require_stable
from .erlang import erlang_c

__all__ = ["MMc"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MMc:
    r"""Exact M/M/c, first come first served.

    The wait is zero or exponential with rate :math:`c\mu-\lambda`; P(wait) is Erlang's C [1]_.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    service_rate_rps : float
        Completions per second :math:`\mu` of a busy server, > 0.
    n_servers : int
        c, >= 1.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    UnstableError
        From `solve` if the rate is not below ``n_servers * service_rate_rps``.

    References
    ----------
    .. [1] Kleinrock (1975), "Queueing Systems" I, Wiley, section 3.5.

    Examples
    --------
    >>> answer = MMc(rate_rps=8.0, service_rate_rps=1.0, n_servers=10).solve()
    >>> print(f"{answer.mean_wait_s:.4f} s, p99 {answer.wait.ppf(0.99):.4f} s")
    0.2046 s, p99 1.8558 s
    """

    rate_rps: float
    service_rate_rps: float
    n_servers: int

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps, service_rate_rps=self.service_rate_rps)
        checks.integer(n_servers=self.n_servers)

    def solve(self) -> QueueResult:
        """The steady state."""
        lam, mu, c = self.rate_rps, self.service_rate_rps, self.n_servers
        require_stable(lam, 1.0 / mu, c)
        load = lam / mu
        prob_wait = erlang_c(n_servers=c, load=load)
        spare = c * mu - lam
        mean_wait_s = prob_wait / spare
        rho, queue = load / c, lam * mean_wait_s
        square_queue = queue * (1.0 + rho) / (1.0 - rho)
        return QueueResult(
            exactness="exact",
            route="Erlang C",
            utilization_frac=rho,
            mean_wait_s=mean_wait_s,
            mean_response_s=mean_wait_s + 1.0 / mu,
            mean_number=queue + load,
            var_number=load + (c - load) * queue + square_queue - queue**2,  # from the balance of N^2
            mean_queue=queue,
            prob_wait=prob_wait,
            prob_empty=self._prob(0),
            wait=exponential_wait(prob_wait, spare),
            response=exponential_after(prob_wait=prob_wait, wait_rate=spare, service_rate=mu),
            number_pmf=self._prob,
        )

    def _prob(self, n: int) -> float:
        """P(n present)."""
        if n < 0:
            return 0.0
        load, c = self.rate_rps / self.service_rate_rps, self.n_servers
        at, full = poisson_pmf([min(n, c), c], load).tolist()
        whole = float(poisson_below(c, load)) + full / (1.0 - load / c)
        return float(at / whole * (load / c) ** max(n - c, 0))
