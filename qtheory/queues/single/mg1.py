"""M/G/1, first come first served: the Pollaczek-Khinchine queue with its laws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws.law import Law
from qtheory.numerics.inversion import pmf_of_pgf
from qtheory.queues.result import QueueResult

from ._common import check_little
from .excess import require_law
from .workload import Workload, laws_of

__all__ = ["MG1", "MG1Result"]

Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True)
class MG1Result(QueueResult):
    """Steady state of M/G/1.

    Parameters
    ----------
    var_number : float or None
        Variance of the number present; None if the third moment of the service is infinite.
    mean_busy_period_s, var_busy_period_s2 : float
        Of a busy period started by one customer.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> round(MG1(rate_rps=0.5, service=Exponential(mean=1.0)).solve().var_number, 9)
    2.0
    """

    var_number: float | None
    mean_busy_period_s: float
    var_busy_period_s2: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MG1:
    r"""Exact M/G/1: Poisson arrivals, one server, any service law, first come first served.

    Means in closed form [1]_; the laws of wait and response by transform inversion, good to about 1e-10 (a
    constant service by a finite sum, to all digits).

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda`, requests per second, > 0.
    service : Law
        Service time S, seconds; its second moment must be finite.

    Raises
    ------
    ConfigError
        If a parameter is out of range or the second moment of the service is infinite.
    UnstableError
        From `solve` if the load is 1 or more.

    References
    ----------
    .. [1] Kleinrock (1975), "Queueing Systems" I, Wiley, chapter 5.

    Examples
    --------
    >>> from qtheory.laws import Gamma
    >>> answer = MG1(rate_rps=8.0, service=Gamma(mean=0.1, cv=1.5)).solve()
    >>> print(f"mean response {answer.mean_response_s:.3f} s, p99 {answer.response.ppf(0.99):.3f} s")
    mean response 0.750 s, p99 3.753 s
    """

    rate_rps: float
    service: Law

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps)
        require_law(service=self.service)

    def solve(self) -> MG1Result:
        """The steady state."""
        lam, service = self.rate_rps, self.service
        work = Workload(rate_rps=lam, service=service)
        rho, second = work.load, service.moment(2)
        mean_response_s = work.mean_s + service.mean
        mean_number = rho + lam**2 * second / (2 * (1 - rho))
        check_little(lam, mean_response_s, mean_number)
        try:
            var_number = mean_number + lam**2 * (work.var_s2 + service.var)
        except ConfigError:
            var_number = None
        wait, response = laws_of(work)
        return MG1Result(
            exactness="exact",
            route="Pollaczek-Khinchine; laws by transform inversion",
            utilization_frac=rho,
            mean_wait_s=work.mean_s,
            mean_response_s=mean_response_s,
            mean_number=mean_number,
            mean_queue=lam * work.mean_s,
            prob_wait=rho,
            prob_empty=1 - rho,
            wait=wait,
            response=response,
            number_pmf=pmf_of_pgf(_number_pgf(work)),
            var_number=var_number,
            mean_busy_period_s=service.mean / (1 - rho),
            var_busy_period_s2=second / (1 - rho) ** 3 - (service.mean / (1 - rho)) ** 2,
        )


def _number_pgf(work: Workload) -> Callable[[Complexes], Complexes]:
    """Arrivals in a response: those that a departure leaves behind."""

    def pgf(z: Complexes) -> Complexes:
        s = work.rate_rps * (1 - z)
        return work.lst(s) * work.service.lst(s)

    return pgf
