"""M/G/1 with multiple vacations: an idle server does other work, over and over, until somebody waits."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics import checks
from qtheory.laws.law import Law

from ._decomposition import Delay, DelayedResult, solve_delayed
from .excess import require_law
from .workload import Workload

__all__ = ["MultipleVacations"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MultipleVacations:
    r"""Exact M/G/1 with multiple vacations, first come first served.

    The server works until nobody is left, then takes vacations V one after another until it finds somebody at
    the end of one. The wait is that of M/G/1 plus an independent residual vacation:
    :math:`E[W]=\frac{\lambda E[S^2]}{2(1-\rho)}+\frac{E[V^2]}{2E[V]}` [1]_, [2]_.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    service, vacation : Law
        Service time S and vacation V, seconds.

    Raises
    ------
    ConfigError
        If a parameter is out of range or a second moment is infinite.
    UnstableError
        From `solve` if the load is 1 or more.

    References
    ----------
    .. [1] Levy, Yechiali (1975), "Utilization of idle time in an M/G/1 queueing system", Management Science
       22, 202-211.
    .. [2] Fuhrmann, Cooper (1985), "Stochastic decompositions in the M/G/1 queue with generalized vacations",
       Operations Research 33, 1117-1129.

    Examples
    --------
    >>> from qtheory.laws import Constant, Exponential
    >>> queue = MultipleVacations(rate_rps=7.0, service=Exponential(mean=0.1), vacation=Constant(value=0.2))
    >>> print(f"{queue.solve().mean_wait_s:.4f}")
    0.3333
    """

    rate_rps: float
    service: Law
    vacation: Law

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps)
        require_law(service=self.service, vacation=self.vacation)

    def solve(self) -> DelayedResult:
        """The steady state."""
        work = Workload(rate_rps=self.rate_rps, service=self.service)
        delay = Delay(law=self.vacation, whole_frac=0.0, excess_frac=1.0)
        return solve_delayed(work, delay, "M/G/1 wait plus a residual vacation; laws by transform inversion")
