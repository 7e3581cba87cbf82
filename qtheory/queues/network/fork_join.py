"""Fork-join: a request is split over all servers and done when the last part is."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics import checks
from qtheory.basics.errors import UnstableError
from qtheory.queues.result import QueueResult

__all__ = ["ForkJoin", "ForkJoinResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkJoinResult(QueueResult):
    """Mean response of a fork-join system, with bounds.

    Parameters
    ----------
    bound_low_s, bound_high_s : float
        Proven bounds of the mean response, seconds.

    Examples
    --------
    >>> from qtheory.queues.network import ForkJoin
    >>> answer = ForkJoin(rate_rps=0.5, service_rate_rps=1.0, n_branches=8).solve()
    >>> print(f"{answer.bound_low_s:.4f} {answer.mean_response_s:.4f} {answer.bound_high_s:.4f}")
    4.0436 4.7848 5.4357
    """

    bound_low_s: float
    bound_high_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkJoin:
    r"""Fork-join of equal M/M/1 queues: exact mean for two, bounds and an approximation for more.

    With :math:`H_k=1+\dots+1/k` and :math:`T=1/(\mu-\lambda)`: two branches take
    :math:`\frac{12-\rho}8T` on average; k take at most :math:`H_kT` (waits are associated) and at least
    :math:`\frac{H_k}\mu+\frac1\mu\sum_{i=1}^k\frac1i\frac{\rho}{i-\rho}` (no part of an earlier request
    stands in front); the approximation scales
    :math:`\left[\frac{H_k}{H_2}+\frac4{11}(1-\frac{H_k}{H_2})\rho\right]` times the exact mean of two,
    within 5 % for :math:`k\le32` [1]_.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    service_rate_rps : float
        Parts per second :math:`\mu` of a busy server, > 0.
    n_branches : int
        k, servers and parts of a request, >= 1.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    UnstableError
        From `solve` if the rate is not below ``service_rate_rps``.

    References
    ----------
    .. [1] Nelson, Tantawi (1988), "Approximate analysis of fork/join synchronization in parallel queues",
       IEEE Trans. Computers 37, 739-743.

    Examples
    --------
    >>> answer = ForkJoin(rate_rps=0.5, service_rate_rps=1.0, n_branches=2).solve()
    >>> answer.mean_response_s, answer.exactness
    (2.875, 'exact')
    """

    rate_rps: float
    service_rate_rps: float
    n_branches: int

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps, service_rate_rps=self.service_rate_rps)
        checks.integer(n_branches=self.n_branches)

    def solve(self) -> ForkJoinResult:
        """The steady state."""
        lam, mu, k = self.rate_rps, self.service_rate_rps, self.n_branches
        if lam >= mu:
            raise UnstableError(
                f"rate_rps={lam:g} is not below service_rate_rps={mu:g}; lower the rate or add speed"
            )
        rho, alone_s = lam / mu, 1.0 / (mu - lam)
        harmonic = sum(1.0 / i for i in range(1, k + 1))
        of_two = (12.0 - rho) / 8.0 * alone_s
        share = harmonic / 1.5
        mean_s = alone_s if k == 1 else (share + 4.0 / 11.0 * (1.0 - share) * rho) * of_two
        low = (harmonic + sum(rho / (i * (i - rho)) for i in range(1, k + 1))) / mu
        return ForkJoinResult(
            exactness="exact" if k <= 2 else "approximation",
            route="exact for one or two branches" if k <= 2 else "scaled mean of two; within 5 % for k <= 32",
            utilization_frac=rho,
            mean_response_s=mean_s,
            mean_number=lam * mean_s,
            bound_low_s=low,
            bound_high_s=harmonic * alone_s,
        )
