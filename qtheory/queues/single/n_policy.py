"""M/G/1 under an N-policy: the server waits until N customers are there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws.law import Law
from qtheory.numerics.inversion import pmf_of_pgf
from qtheory.numerics.timelaw import TransformLaw
from qtheory.queues.result import QueueResult

from ._common import check_little
from .excess import Excess, require_law
from .workload import Workload

__all__ = ["NPolicy"]

Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True)
class NPolicy:
    r"""Exact M/G/1 under an N-policy: an idle server starts when N customers are present.

    It then works until the system is empty. Number in system: that of M/G/1 plus :math:`(N-1)/2` [1]_. The
    j-th of the N who gather (a share :math:`1-\rho` of all) waits for :math:`N-j` arrivals and :math:`j-1`
    services; the others find the work of a busy period that N services started.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    service : Law
        Service time S, seconds.
    threshold : int
        N, >= 1; 1 gives M/G/1.

    Raises
    ------
    ConfigError
        If a parameter is out of range or the second moment of the service is infinite.
    UnstableError
        From `solve` if the load is 1 or more.

    References
    ----------
    .. [1] Heyman (1968), "Optimal operating policies for M/G/1 queuing systems", Operations Research 16,
       362-382.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> answer = NPolicy(rate_rps=6.0, service=Exponential(mean=0.1), threshold=3).solve()
    >>> print(f"{answer.mean_number:.4f} {answer.mean_response_s:.4f}")
    2.5000 0.4167
    """

    rate_rps: float
    service: Law
    threshold: int

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps)
        checks.integer(threshold=self.threshold)
        require_law(service=self.service)

    def wait_lst(self, s: Complexes) -> Complexes:
        """E[exp(-s W)], Re s > 0."""
        lam, n = self.rate_rps, self.threshold
        work = Workload(rate_rps=lam, service=self.service)
        lst, _, service, left = work.transforms(s)
        early = np.zeros(s.shape, dtype=np.complex128)
        started = np.zeros(s.shape, dtype=np.complex128)  # excess of n services, times n
        for j in range(n):
            early += (lam / (lam + s)) ** (n - 1 - j) * service**j
            started += service**j * left
        return (1 - work.load) * early / n + work.load * lst * started / n

    def solve(self) -> QueueResult:
        """The steady state."""
        lam, n, service = self.rate_rps, self.threshold, self.service
        work = Workload(rate_rps=lam, service=service)
        rho, excess = work.load, Excess(law=service)
        gather = (n - 1) / 2 * (1 / lam + service.mean)
        started = excess.mean_s + (n - 1) / 2 * service.mean  # mean excess of n services
        mean_wait_s = (1 - rho) * gather + rho * (work.mean_s + started)
        mean_number = rho + lam * work.mean_s + (n - 1) / 2
        check_little(lam, mean_wait_s + service.mean, mean_number)
        var_s2 = self._wait_variance(work, mean_wait_s)

        def tail_lst(s: Complexes) -> Complexes:
            return (1 - self.wait_lst(s)) / s

        def response_tail_lst(s: Complexes) -> Complexes:
            return (1 - self.wait_lst(s) * service.lst(s)) / s

        cause = "the third moment of the service is infinite"
        positive = 1.0 if n > 1 else rho
        return QueueResult(
            exactness="exact",
            route="M/G/1 number plus (N-1)/2; laws by transform inversion",
            utilization_frac=rho,
            mean_wait_s=mean_wait_s,
            mean_response_s=mean_wait_s + service.mean,
            mean_number=mean_number,
            mean_queue=lam * mean_wait_s,
            prob_wait=positive,
            prob_empty=(1 - rho) / n,
            number_pmf=pmf_of_pgf(self._number_pgf(work)),
            wait=TransformLaw(
                tail_lst=tail_lst, mean_s=mean_wait_s, variance_s2=var_s2, prob_positive=positive, cause=cause
            ),
            response=TransformLaw(
                tail_lst=response_tail_lst,
                mean_s=mean_wait_s + service.mean,
                variance_s2=None if var_s2 is None else var_s2 + service.var,
                cause=cause,
            ),
        )

    def _number_pgf(self, work: Workload) -> Callable[[Complexes], Complexes]:
        """That of M/G/1, times that of a number uniform on 0 .. N - 1: those who gather."""
        n, service = self.threshold, self.service

        def pgf(z: Complexes) -> Complexes:
            s = work.rate_rps * (1 - z)
            gathered = np.polynomial.polynomial.polyval(z, np.full(n, 1 / n))
            return np.asarray(work.lst(s) * service.lst(s) * gathered, dtype=np.complex128)

        return pgf

    def _wait_variance(self, work: Workload, mean_wait_s: float) -> float | None:
        """From the second moments of the two kinds of customer."""
        lam, n, s = self.rate_rps, self.threshold, self.service
        try:
            third = Excess(law=s).moment(2)
            work_second = work.var_s2 + work.mean_s**2
        except ConfigError:
            return None
        j = np.arange(n)
        mean = (n - 1 - j) / lam + j * s.mean
        early = float(np.mean((n - 1 - j) / lam**2 + j * s.var + mean**2))
        first = Excess(law=s).mean_s + j * s.mean
        started = float(np.mean(third - Excess(law=s).mean_s ** 2 + j * s.var + first**2))
        late = work_second + 2 * work.mean_s * float(np.mean(first)) + started
        return (1 - work.load) * early + work.load * late - mean_wait_s**2
