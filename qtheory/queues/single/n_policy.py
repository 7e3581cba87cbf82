"""M/G/1 under an N-policy: the server waits until N customers are there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws.constant import Constant
from qtheory.laws.law import Law
from qtheory.numerics.inversion import pmf_of_pgf
from qtheory.numerics.timelaw import TransformLaw
from qtheory.queues.result import QueueResult

from ._common import all_atoms_of, check_little
from .excess import Excess, require_law
from .workload import Workload

__all__ = ["NPolicy"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_SMOOTH, _BESIDE_KINKS = 1e-6, 1e-4  # largest error of an inversion that is accepted


@dataclass(frozen=True, slots=True, kw_only=True)
class _Jump:
    """An atom of a time, taken out of its transform."""

    at_s: float
    chance: float

    def tail(self, t: Floats) -> Floats:
        """Its part of P(T > t)."""
        return np.where(t < self.at_s, self.chance, 0.0)

    def short(self, s: Complexes) -> Complexes:
        """Its part of 1 - E[exp(-s T)]."""
        return np.asarray(self.chance * (1 - np.exp(-s * self.at_s)), dtype=np.complex128)


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

    def _number_variance(self, work: Workload) -> float | None:
        """That of M/G/1 and of a uniform number below N, which are independent; None if it is infinite."""
        try:
            own = work.var_s2 + self.service.var
        except ConfigError:
            return None
        mean = work.load + self.rate_rps * work.mean_s
        return mean + self.rate_rps**2 * own + (self.threshold**2 - 1) / 12

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
        wait, response = self._laws(work, mean_wait_s)
        return QueueResult(
            exactness="exact",
            route="M/G/1 number plus (N-1)/2; laws by transform inversion",
            utilization_frac=rho,
            mean_wait_s=mean_wait_s,
            mean_response_s=mean_wait_s + service.mean,
            mean_number=mean_number,
            var_number=self._number_variance(work),
            mean_queue=lam * mean_wait_s,
            prob_wait=wait.prob_positive,
            prob_empty=(1 - rho) / n,
            number_pmf=pmf_of_pgf(self._number_pgf(work)),
            wait=wait,
            response=response,
        )

    def _laws(self, work: Workload, mean_wait_s: float) -> tuple[TransformLaw, TransformLaw]:
        """Of wait and response, their atoms apart."""
        n, service = self.threshold, self.service
        var_s2 = self._wait_variance(work, mean_wait_s)
        first, last = self._jump(work, n - 1), self._jump(work, n)

        def tail_lst(s: Complexes) -> Complexes:
            return (1 - self.wait_lst(s) - first.short(s)) / s

        def response_tail_lst(s: Complexes) -> Complexes:
            return (1 - self.wait_lst(s) * service.lst(s) - last.short(s)) / s

        wait = TransformLaw(
            tail_lst=tail_lst,
            mean_s=mean_wait_s,
            variance_s2=var_s2,
            prob_positive=1.0 if n > 1 else work.load,
            known_tail=first.tail if first.chance else None,
            worst=_BESIDE_KINKS if all_atoms_of(service) is not None else _SMOOTH,
            cause="the third moment of the service is infinite",
        )
        return wait, replace(
            wait,
            tail_lst=response_tail_lst,
            mean_s=mean_wait_s + service.mean,
            variance_s2=None if var_s2 is None else var_s2 + service.var,
            prob_positive=1.0,
            known_tail=last.tail if last.chance else None,
        )

    def _jump(self, work: Workload, services: int) -> _Jump:
        """Who completes the N waits for N - 1 services: of constant length, that is an atom."""
        if not isinstance(self.service, Constant):
            return _Jump(at_s=0.0, chance=0.0)
        return _Jump(at_s=services * self.service.mean, chance=(1 - work.load) / self.threshold)

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
