"""Shortest job first, without interruption."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws.law import Law
from qtheory.numerics.timelaw import ShiftedLaw
from qtheory.queues.single.excess import require_law

from ._size_laws import RankedWait, all_sizes, law_given_size
from ._sizes import (
    SizeGrid,
    SizeResult,
    Stretched,
    given_size,
    has_third_moment,
    require_load_below_one,
    solve_by_size,
)

__all__ = ["SJF"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SJF:
    r"""Exact M/G/1 where the shortest waiting job goes next and is not interrupted (Phipps).

    :math:`E[W(x)]=\frac{\lambda E[S^2]/2}{(1-\rho(x^-))(1-\rho(x))}`, :math:`\rho(x)=\lambda E[S;S\le x]`:
    Cobham's formula with a class for every size [1]_; ties go to the earlier arrival.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    service : Law
        Service time S, seconds; a finite second moment.

    Raises
    ------
    ConfigError
        If a parameter is out of range or the second moment is infinite; variances need the third.
    UnstableError
        From `solve` if the load is 1 or more.

    References
    ----------
    .. [1] Phipps (1956), "Machine repair as a priority waiting-line problem", Operations Research 4, 76-85.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> queue = SJF(rate_rps=0.8, service=Exponential(mean=1.0))
    >>> print(f"{queue.solve().mean_response_s:.6f} {queue.mean_wait_given_size_s(1.0):.6f}")
    2.882219 1.286378
    """

    rate_rps: float
    service: Law

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps)
        require_law(service=self.service)

    def solve(self) -> SizeResult:
        """The steady state."""
        load = require_load_below_one(self.rate_rps, self.service)
        grid = SizeGrid.of(self.service)
        mean, var = self._waits(grid)
        answer = solve_by_size(
            self,
            grid,
            (mean + grid.x, var),
            rule="sjf",
            route="Phipps' formula, integrated over the size",
        )
        mean_wait_s = float(grid.weight @ mean)
        var_wait_s2 = None
        if has_third_moment(self.service):
            var_wait_s2 = float(grid.weight @ (var + mean**2)) - mean_wait_s**2
        wait = RankedWait(
            sizes=all_sizes(self.rate_rps, self.service),
            load=load,
            is_atomic=grid.edges is None,
            mean_s=mean_wait_s,
            variance_s2=var_wait_s2,
        )
        queue = self.rate_rps * mean_wait_s
        return replace(answer, mean_wait_s=mean_wait_s, mean_queue=queue, prob_wait=load, wait=wait)

    def mean_wait_given_size_s(self, size_s: float) -> float:
        """Mean wait of a customer of this size, seconds."""
        return given_size(self.rate_rps, self.service, size_s, self._waits)[0]

    def mean_response_given_size_s(self, size_s: float) -> float:
        """Mean response of a customer of this size, seconds."""
        return self.mean_wait_given_size_s(size_s) + size_s

    def response_given_size(self, size_s: float) -> ShiftedLaw:
        """Law of the response of a customer of this size, by inversion."""
        var_s2 = given_size(self.rate_rps, self.service, size_s, self._waits)[1]
        moments = self.mean_response_given_size_s(size_s), var_s2 if np.isfinite(var_s2) else None
        return law_given_size(self, "sjf", size_s, moments)

    def var_response_given_size_s2(self, size_s: float) -> float:
        """Variance of the response of a customer of this size, seconds squared."""
        var_s2 = given_size(self.rate_rps, self.service, size_s, self._waits)[1]
        if not np.isfinite(var_s2):
            raise ConfigError(
                "service: its third moment is infinite, and so is the variance; the mean exists"
            )
        return var_s2

    def _waits(self, grid: SizeGrid) -> tuple[Floats, Floats]:
        """Mean and variance of the wait at every size of the grid."""
        lam = self.rate_rps
        third = self.service.moment(3) if has_third_moment(self.service) else np.inf
        whole = (self.service.moment(2), third)
        longer = [lam * np.maximum(m - grid.upto[k], 0.0) for k, m in zip((2, 3), whole, strict=True)]
        return Stretched(
            ahead=(lam * grid.below[1], lam * grid.below[2]),
            equal=(lam * grid.upto[1], lam * grid.upto[2], lam * grid.upto[3]),
            lower=(longer[0], longer[1]),
        ).moments()
