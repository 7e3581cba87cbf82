"""M/G/1 with egalitarian processor sharing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.laws.law import Law
from qtheory.numerics.inversion import invert_laplace
from qtheory.numerics.timelaw import TransformLaw
from qtheory.queues.result import QueueResult
from qtheory.queues.single.excess import require_law
from qtheory.queues.single.workload import Workload

from ._sharing import SharedSizes, SharedTime, SharedTransform
from ._sizes import SizeGrid

__all__ = ["ProcessorSharing", "ProcessorSharingResult"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_SIZES = 48  # sizes at which the conditional variance is computed; between them it is smooth


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessorSharingResult(QueueResult):
    """Steady state of M/G/1 with processor sharing.

    Parameters
    ----------
    mean_slowdown : float
        Mean of response / size, the same for every size.
    var_number : float
        Variance of the number present.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> round(ProcessorSharing(rate_rps=0.5, service=Exponential(mean=1.0)).solve().var_number, 9)
    2.0
    """

    mean_slowdown: float
    var_number: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessorSharing:
    r"""Exact M/G/1 with egalitarian processor sharing: means do not depend on the law of the size.

    :math:`P(N=n)=(1-\rho)\rho^n`, :math:`E[T(x)]=x/(1-\rho)` and
    :math:`\mathrm{Var}T(x)=\frac2{(1-\rho)^2}\int_0^x(x-y)P(W>y)dy` with W the first-come-first-served wait
    [1]_, [2]_. The law of T(x) has a transform whose reciprocal has one in x [1]_, [3]_.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    service : Law
        Time S that a customer alone would need, seconds.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    UnstableError
        From `solve` if the load is 1 or more.

    References
    ----------
    .. [1] Ott (1984), "The sojourn-time distribution in the M/G/1 queue with processor sharing", J. Applied
       Probability 21, 360-378.
    .. [2] Yashkov (1987), "Processor-sharing queues: some progress in analysis", Queueing Systems 2, 1-17.
    .. [3] Zwart, Boxma (2000), "Sojourn time asymptotics in the M/G/1 processor sharing queue", Queueing
       Systems 35, 141-166.

    Examples
    --------
    >>> from qtheory.laws import Lognormal
    >>> queue = ProcessorSharing(rate_rps=0.8, service=Lognormal(mean=1.0, cv=2.0))
    >>> print(f"{queue.solve().mean_response_s:.3f} {queue.var_response_given_size_s2(1.0):.3f}")
    5.000 18.862
    """

    rate_rps: float
    service: Law

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps)
        require_law(service=self.service)

    def solve(self) -> ProcessorSharingResult:
        """The steady state."""
        lam = self.rate_rps
        rho = Workload(rate_rps=lam, service=self.service).load
        return ProcessorSharingResult(
            exactness="exact",
            route="insensitive closed form; law of the response by two transforms",
            utilization_frac=rho,
            mean_response_s=self.service.mean / (1 - rho),
            mean_number=rho / (1 - rho),
            prob_empty=1 - rho,
            response=SharedTime(
                sizes=SharedSizes(rate_rps=lam, law=self.service),
                mean_s=self.service.mean / (1 - rho),
                find_var_s2=self.var_response_s2,
            ),
            number_pmf=lambda n: (1 - rho) * rho**n if n >= 0 else 0.0,
            mean_slowdown=1 / (1 - rho),
            var_number=rho / (1 - rho) ** 2,
        )

    def mean_response_given_size_s(self, size_s: float) -> float:
        """Mean response of a customer of this size, seconds."""
        checks.positive(size_s=size_s)
        return size_s / (1 - Workload(rate_rps=self.rate_rps, service=self.service).load)

    def var_response_given_size_s2(self, size_s: float) -> float:
        """Variance of the response of a customer of this size, seconds squared."""
        checks.positive(size_s=size_s)
        return float(self._variances(np.array([float(size_s)]))[0])

    def response_given_size(self, size_s: float) -> TransformLaw:
        """Law of the response of a customer of this size."""
        checks.positive(size_s=size_s)
        work = Workload(rate_rps=self.rate_rps, service=self.service)
        given = SharedTransform(rate_rps=self.rate_rps, law=self.service)
        alone = float((1 - work.load) * np.exp(-self.rate_rps * size_s))  # nobody there and nobody comes

        def tail_lst(s: Complexes) -> Complexes:
            flat = np.asarray(s, dtype=np.complex128).ravel()
            start = np.exp(-flat * size_s)
            whole = given.at_sizes(flat, np.array([size_s]))[:, 0]
            return np.asarray(((1 - whole - alone * (1 - start)) / flat).reshape(np.shape(s)))

        return TransformLaw(
            tail_lst=tail_lst,
            mean_s=self.mean_response_given_size_s(size_s),
            variance_s2=self.var_response_given_size_s2(size_s),
            known_tail=lambda t: np.where(t < size_s, alone, 0.0),
            tol=1e-8,
            worst=1e-4,
        )

    def var_response_s2(self) -> float:
        """Variance of the response over all customers, seconds squared."""
        grid = SizeGrid.of(self.service)
        if grid.edges is None:
            var = self._variances(grid.x)
        else:  # Var T(x) / x^2 is smooth in log x
            smooth = np.polynomial.chebyshev.Chebyshev.interpolate(
                lambda u: np.log(self._variances(np.exp(u))) - 2 * u,
                _SIZES,
                domain=[np.log(grid.x[0]), np.log(grid.x[-1])],
            )
            var = np.exp(smooth(np.log(grid.x))) * grid.x**2
        rho = self.rate_rps * self.service.mean
        return float(grid.weight @ var + self.service.var / (1 - rho) ** 2)

    def _variances(self, sizes: Floats) -> Floats:
        """Of the response given each size: the double integral of the wait's tail, relative to the size."""
        work = Workload(rate_rps=self.rate_rps, service=self.service)

        def unit(x: float) -> float:
            """In units of x the value is of order 1, so that the accuracy is relative."""
            return float(invert_laplace(lambda z: work.tail_lst(z / x) / (x * z**2), 1.0, worst=1e-5))

        found = np.array([unit(x) for x in sizes.tolist()])
        return np.asarray(2 / (1 - work.load) ** 2 * found * sizes**2)
