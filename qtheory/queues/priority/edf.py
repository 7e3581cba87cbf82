"""Earliest deadline first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.basics import checks
from qtheory.laws.law import Law
from qtheory.queues.result import QueueResult
from qtheory.queues.single.excess import require_law
from qtheory.queues.single.workload import Workload, laws_of

__all__ = ["EDF", "EDFResult"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class EDFResult(QueueResult):
    """What earliest deadline first does to deadlines.

    Parameters
    ----------
    late_start_frac, late_end_frac : float
        Shares of customers whose service starts, or ends, after the deadline.
    lateness_sf : callable (array of seconds) -> array
        P(start - deadline > u); negative u are margins.

    Examples
    --------
    >>> from qtheory.laws import Constant, Exponential
    >>> answer = EDF(rate_rps=0.9, service=Exponential(mean=1.0), lead=Constant(value=20.0)).solve()
    >>> round(answer.late_start_frac, 6), float(answer.lateness_sf(-20.0).round(6))
    (0.121802, 0.9)
    """

    late_start_frac: float
    late_end_frac: float
    lateness_sf: Callable[[ArrayLike], Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class EDF:
    r"""Approximation of lateness in M/G/1 under earliest deadline first, by the profile of lead times.

    In heavy traffic the lead times of those who wait lie on a frontier that the work V alone decides: with
    :math:`H(y)=\int_y^\infty P(D>\eta)d\eta` the customer in service has the lead time :math:`H^{-1}(V)`, so
    that :math:`P(\text{start late})\approx P(V>E[D])` [1]_. Exact for equal lead times, where the rule is
    first come first served; checked against simulation from a load of 0.8 on with lead times that differ by a
    factor of 4: within 15 % of the late share.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    service : Law
        Service time S, seconds.
    lead : Law
        Time D from arrival to deadline, seconds.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    UnstableError
        From `solve` if the load is 1 or more.

    References
    ----------
    .. [1] Doytchinov, Lehoczky, Shreve (2001), "Real-time queues in heavy traffic with
       earliest-deadline-first queue discipline", Annals of Applied Probability 11, 332-378.

    Examples
    --------
    >>> from qtheory.laws import Exponential, Uniform
    >>> queue = EDF(rate_rps=9.0, service=Exponential(mean=0.1), lead=Uniform(low=1.0, high=3.0))
    >>> print(f"{queue.solve().late_start_frac:.4f}")
    0.1218
    """

    rate_rps: float
    service: Law
    lead: Law

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps)
        require_law(service=self.service, lead=self.lead)

    def _above(self, lead_s: float) -> float:
        """H(y): mean time of D above y."""
        if lead_s <= 0:
            return self.lead.mean - lead_s
        return self.lead.moment_between(1, lead_s, np.inf) - lead_s * self.lead.sf(lead_s)

    def solve(self) -> EDFResult:
        """Shares that are late; means are those of first come first served, which the rule keeps near."""
        work = Workload(rate_rps=self.rate_rps, service=self.service)
        wait, response = laws_of(work)

        def lateness_sf(u: ArrayLike) -> Floats:
            levels = np.asarray(u, dtype=float)
            return wait.sf(np.array([self._above(-x) for x in levels.ravel()]).reshape(levels.shape))

        return EDFResult(
            exactness="approximation",
            route="heavy-traffic profile of lead times; exact for equal lead times",
            utilization_frac=work.load,
            prob_wait=work.load,
            prob_empty=1 - work.load,
            late_start_frac=float(wait.sf(self.lead.mean)),
            late_end_frac=float(response.sf(self.lead.mean)),
            lateness_sf=lateness_sf,
        )
