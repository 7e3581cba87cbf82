"""M/G/1 with a single vacation at the end of each busy period."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics import checks
from qtheory.laws.law import Law

from ._decomposition import Delay, DelayedResult, solve_delayed
from .excess import require_law
from .workload import Workload

__all__ = ["SingleVacation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleVacation:
    r"""Exact M/G/1 with one vacation after each busy period, then idle until somebody comes.

    Off duty the server is on vacation for E[V], then idle for :math:`V^*(\lambda)/\lambda` on average; the
    wait is that of M/G/1 plus a residual vacation with probability
    :math:`\lambda E[V]/(V^*(\lambda)+\lambda E[V])` [1]_.

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
    .. [1] Takagi (1991), "Queueing Analysis" 1, North-Holland, section 2.2.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> queue = SingleVacation(rate_rps=6.0, service=Exponential(mean=0.1), vacation=Exponential(mean=0.1))
    >>> print(f"{queue.solve().mean_wait_s:.4f}")
    0.1990
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
        away = self.rate_rps * self.vacation.mean
        idle = self.vacation.lst(self.rate_rps)
        delay = Delay(law=self.vacation, whole_frac=0.0, excess_frac=away / (away + idle))
        return solve_delayed(work, delay, "M/G/1 wait plus perhaps a residual vacation; laws by inversion")
