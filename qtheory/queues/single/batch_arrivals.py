"""M^[X]/G/1: customers come in groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws.law import Law
from qtheory.numerics.inversion import pmf_of_pgf
from qtheory.numerics.timelaw import TransformLaw
from qtheory.queues.result import QueueResult

from ._common import check_little, require_stable
from .excess import Excess, require_law

__all__ = ["BatchArrivals"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchArrivals:
    r"""Exact M^[X]/G/1, groups in order of arrival; wait and response are those of a customer.

    A group of size X is one customer of M/G/1 with the service :math:`S_1+\dots+S_X`; within the group
    :math:`j` members stand before one with probability :math:`P(X>j)/E[X]`:
    :math:`E[W]=\frac{\lambda(E[X]\mathrm{Var}S+E[X^2]E[S]^2)}{2(1-\rho)}+\frac{E[X(X-1)]}{2E[X]}E[S]` [1]_.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate of groups :math:`\lambda` (Poisson), per second, > 0.
    group_pmf : sequence of float
        Probabilities of the group sizes 1, 2, ..., sum 1.
    service : Law
        Service time S of one customer, seconds.

    Raises
    ------
    ConfigError
        If a parameter is out of range or the second moment of the service is infinite.
    UnstableError
        From `solve` if the load is 1 or more.

    References
    ----------
    .. [1] Burke (1975), "Delays in single-server queues with batch input", Operations Research 23, 830-833.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> queue = BatchArrivals(rate_rps=0.3, group_pmf=[0.5, 0.3, 0.2], service=Exponential(mean=1.0))
    >>> print(f"{queue.solve().mean_number:.6f}")
    1.591837
    """

    rate_rps: float
    group_pmf: Sequence[float]
    service: Law

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps)
        for p in self.group_pmf:
            checks.non_negative(group_pmf=p)
        total = float(sum(self.group_pmf))
        if abs(total - 1) > 1e-9:
            raise ConfigError(f"group_pmf: its sum {total:g} must be 1")
        require_law(service=self.service)

    def _ahead(self) -> Floats:
        """P(j members of the own group stand before one), j = 0, 1, ..."""
        pmf = np.asarray(self.group_pmf, dtype=float)
        above = np.cumsum(pmf[::-1])[::-1]  # P(X > j)
        return np.asarray(above / above.sum())

    def solve(self) -> QueueResult:
        """The steady state."""
        lam, s = self.rate_rps, self.service
        sizes = np.arange(1, len(self.group_pmf) + 1)
        pmf = np.asarray(self.group_pmf, dtype=float) / float(sum(self.group_pmf))
        mean_size, second_size = float(pmf @ sizes), float(pmf @ sizes**2)
        rate = lam * mean_size
        require_stable(rate, s.mean)
        rho = rate * s.mean
        first = lam * (mean_size * s.var + second_size * s.mean**2) / (2 * (1 - rho))
        mean_wait_s = first + (second_size / mean_size - 1) / 2 * s.mean
        mean_number = rho + rate * mean_wait_s
        ahead = self._ahead()
        check_little(rate, first + float(ahead @ np.arange(ahead.size)) * s.mean + s.mean, mean_number)
        wait, response = self._laws(rho, mean_wait_s, self._wait_variance(rho, first, ahead, pmf))
        return QueueResult(
            exactness="exact",
            route="M/G/1 of the groups plus the place in the group; laws by transform inversion",
            utilization_frac=rho,
            mean_wait_s=mean_wait_s,
            mean_response_s=mean_wait_s + s.mean,
            mean_number=mean_number,
            mean_queue=rate * mean_wait_s,
            prob_wait=wait.prob_positive,
            prob_empty=1 - rho,
            wait=wait,
            response=response,
            number_pmf=pmf_of_pgf(self._number_pgf(rho)),
        )

    def _number_pgf(self, rho: float) -> Callable[[Complexes], Complexes]:
        """(1 - rho) (1 - z) S* / (S* - z), the transform S* of the service at lambda (1 - X(z))."""
        sizes = np.append(0.0, np.asarray(self.group_pmf, dtype=float) / float(sum(self.group_pmf)))

        def pgf(z: Complexes) -> Complexes:
            served = self.service.lst(self.rate_rps * (1 - np.polynomial.polynomial.polyval(z, sizes)))
            return np.asarray((1 - rho) * (1 - z) * served / (served - z), dtype=np.complex128)

        return pgf

    def _laws(
        self, rho: float, mean_wait_s: float, var_s2: float | None
    ) -> tuple[TransformLaw, TransformLaw]:
        """Of wait and response."""
        s, ahead = self.service, self._ahead()

        def lsts(t: Complexes) -> tuple[Complexes, Complexes]:
            whole, left, _ = Excess(law=s).transforms(t)
            before = np.polynomial.polynomial.polyval(whole, ahead)
            return (1 - rho) / (1 - rho * left * before) * before, whole

        def response_tail(t: Complexes) -> Complexes:
            wait, whole = lsts(t)
            return np.asarray((1 - wait * whole) / t)

        cause = "the third moment of the service is infinite"
        wait = TransformLaw(
            tail_lst=lambda t: (1 - lsts(t)[0]) / t,
            mean_s=mean_wait_s,
            variance_s2=var_s2,
            prob_positive=1 - (1 - rho) * float(ahead[0]),
            worst=2e-4,
            cause=cause,
        )
        response_var = None if var_s2 is None else var_s2 + s.var
        return wait, TransformLaw(
            tail_lst=response_tail,
            mean_s=mean_wait_s + s.mean,
            variance_s2=response_var,
            worst=2e-4,
            cause=cause,
        )

    def _wait_variance(self, rho: float, first: float, ahead: Floats, pmf: Floats) -> float | None:
        """Variance of the group's wait plus that of the services before one in his group."""
        s = self.service
        try:
            m1, m2, m3 = s.mean, s.moment(2), s.moment(3)
        except ConfigError:
            return None
        n = np.arange(1.0, pmf.size + 1)
        third = float(pmf @ (n * m3 + 3 * n * (n - 1) * m2 * m1 + n * (n - 1) * (n - 2) * m1**3))
        group = first**2 + self.rate_rps * third / (3 * (1 - rho))
        j = np.arange(ahead.size)
        mean = float(ahead @ j)
        return group + mean * s.var + (float(ahead @ j**2) - mean**2) * m1**2
