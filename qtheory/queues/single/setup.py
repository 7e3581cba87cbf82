"""M/G/1 with a set-up before the first service of a busy period."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics import checks
from qtheory.laws.law import Law

from ._decomposition import Delay, DelayedResult, solve_delayed
from .excess import require_law
from .workload import Workload

__all__ = ["SetupQueue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupQueue:
    r"""Exact M/G/1 with set-ups: an arrival to the idle server starts a set-up D, then service begins.

    The set-up counts as waiting. Off duty, one arrival waits the whole D and :math:`\lambda E[D]` others what
    is left of it:
    :math:`E[W]=\frac{\lambda E[S^2]}{2(1-\rho)}+\frac{2E[D]+\lambda E[D^2]}{2(1+\lambda E[D])}` [1]_.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    service, setup : Law
        Service time S and set-up D, seconds.

    Raises
    ------
    ConfigError
        If a parameter is out of range or a second moment is infinite.
    UnstableError
        From `solve` if the load is 1 or more.

    References
    ----------
    .. [1] Welch (1964), "On a generalized M/G/1 queuing process in which the first customer of each busy
       period receives exceptional service", Operations Research 12, 736-752.

    Examples
    --------
    >>> from qtheory.laws import Constant, Exponential
    >>> queue = SetupQueue(rate_rps=7.0, service=Exponential(mean=0.1), setup=Constant(value=0.15))
    >>> print(f"{queue.solve().mean_wait_s:.4f}")
    0.3449
    """

    rate_rps: float
    service: Law
    setup: Law

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps)
        require_law(service=self.service, setup=self.setup)

    def solve(self) -> DelayedResult:
        """The steady state."""
        work = Workload(rate_rps=self.rate_rps, service=self.service)
        others = self.rate_rps * self.setup.mean
        delay = Delay(law=self.setup, whole_frac=1 / (1 + others), excess_frac=others / (1 + others))
        return solve_delayed(work, delay, "M/G/1 wait plus a set-up or what is left of it; laws by inversion")
