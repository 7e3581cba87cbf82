"""Shortest remaining processing time first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.laws.law import Law
from qtheory.numerics.timelaw import ShiftedLaw
from qtheory.queues.single.excess import require_law

from ._size_laws import law_given_size
from ._sizes import SizeGrid, SizeResult, Stretched, given_size, require_load_below_one, solve_by_size

__all__ = ["SRPT"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SRPT:
    r"""Exact M/G/1 under shortest remaining processing time first: the least mean response of all.

    :math:`E[T(x)]=\frac{\lambda(E[S^2;S\le x]+x^2P(S>x))}{2(1-\rho(x^-))(1-\rho(x))}
    +\int_0^x\frac{dt}{1-\rho(t)}`,
    :math:`\rho(x)=\lambda E[S;S\le x]` [1]_; ties go to the earlier arrival.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    service : Law
        Service time S, seconds.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    UnstableError
        From `solve` if the load is 1 or more.

    References
    ----------
    .. [1] Schrage, Miller (1966), "The queue M/G/1 with the shortest remaining processing time discipline",
       Operations Research 14, 670-684.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> queue = SRPT(rate_rps=0.8, service=Exponential(mean=1.0))
    >>> print(f"{queue.solve().mean_response_s:.6f} {queue.mean_response_given_size_s(1.0):.6f}")
    2.352773 1.436078
    """

    rate_rps: float
    service: Law

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps)
        require_law(service=self.service)

    def solve(self) -> SizeResult:
        """The steady state."""
        require_load_below_one(self.rate_rps, self.service)
        grid = SizeGrid.of(self.service)
        return solve_by_size(
            self,
            grid,
            self._moments(grid),
            rule="srpt",
            route="Schrage-Miller integrals over the size",
        )

    def mean_response_given_size_s(self, size_s: float) -> float:
        """Mean response of a customer of this size, seconds."""
        return given_size(self.rate_rps, self.service, size_s, self._moments)[0]

    def response_given_size(self, size_s: float) -> ShiftedLaw:
        """Law of the response of a customer of this size, by inversion."""
        moments = self.mean_response_given_size_s(size_s), self.var_response_given_size_s2(size_s)
        return law_given_size(self, "srpt", size_s, moments)

    def var_response_given_size_s2(self, size_s: float) -> float:
        """Variance of the response of a customer of this size, seconds squared."""
        return given_size(self.rate_rps, self.service, size_s, self._moments)[1]

    def _moments(self, grid: SizeGrid) -> tuple[Floats, Floats]:
        """Mean and variance at every size of the grid."""
        lam, x = self.rate_rps, grid.x
        # a longer job counts with what is left of it once that has come down to x
        waiting = Stretched(
            ahead=(lam * grid.below[1], lam * grid.below[2]),
            equal=(lam * grid.upto[1], lam * grid.upto[2], lam * grid.upto[3]),
            lower=(lam * x**2 * grid.sf, lam * x**3 * grid.sf),
        )
        mean, var = waiting.moments()
        open_frac = 1 - lam * grid.below[1]
        return (
            mean + grid.integral_to(1 / open_frac),
            var + grid.integral_to(lam * grid.below[2] / open_frac**3),
        )
