"""Least attained service first."""

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

__all__ = ["LAS"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class LAS:
    r"""Exact M/G/1 where the customer served least so far goes first (foreground-background).

    With all sizes cut at x, :math:`E[T(x)]=\frac{\lambda E[\min(S,x)^2]}{2(1-\rho_x)^2}+\frac x{1-\rho_x}`,
    :math:`\rho_x=\lambda E[\min(S,x)]` [1]_.

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
    .. [1] Schrage (1967), "The queue M/G/1 with feedback to lower priority queues", Management Science 13,
       466-474.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> queue = LAS(rate_rps=0.8, service=Exponential(mean=1.0))
    >>> print(f"{queue.solve().mean_response_s:.6f} {queue.mean_response_given_size_s(1.0):.6f}")
    5.000000 2.888221
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
        return solve_by_size(self, grid, self._moments(grid), rule="las", route="integrals over the size")

    def mean_response_given_size_s(self, size_s: float) -> float:
        """Mean response of a customer of this size, seconds."""
        return given_size(self.rate_rps, self.service, size_s, self._moments)[0]

    def response_given_size(self, size_s: float) -> ShiftedLaw:
        """Law of the response of a customer of this size, by inversion."""
        moments = self.mean_response_given_size_s(size_s), self.var_response_given_size_s2(size_s)
        return law_given_size(self, "las", size_s, moments)

    def var_response_given_size_s2(self, size_s: float) -> float:
        """Variance of the response of a customer of this size, seconds squared."""
        return given_size(self.rate_rps, self.service, size_s, self._moments)[1]

    def _moments(self, grid: SizeGrid) -> tuple[Floats, Floats]:
        """Mean and variance at every size of the grid."""
        lam, x = self.rate_rps, grid.x
        cut = (lam * grid.capped[1], lam * grid.capped[2], lam * grid.capped[3])
        nothing = np.zeros(x.size)
        return Stretched(ahead=cut[:2], equal=cut, lower=(nothing, nothing)).moments(own=x)
