"""Shortest job first, without interruption; also by a predicted size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws.discrete import Discrete
from qtheory.laws.law import Law
from qtheory.numerics.timelaw import ShiftedLaw
from qtheory.queues.single.excess import require_law

from ._size_laws import law_given_size
from ._sizes import (
    SizeGrid,
    SizeResult,
    Stretched,
    given_size,
    has_third_moment,
    require_load_below_one,
    solve_by_size,
)

__all__ = ["SJF", "PredictedSJF"]

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
        return replace(
            answer, mean_wait_s=mean_wait_s, mean_queue=self.rate_rps * mean_wait_s, prob_wait=load
        )

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedSJF:
    r"""Exact mean wait in M/G/1 where the smallest predicted size goes next, without interruption.

    A priority class for every prediction r:
    :math:`E[W(r)]=\frac{\lambda E[S^2]/2}{(1-\rho'(r^-))(1-\rho'(r))}` with the true work
    :math:`\rho'(r)=\lambda E[S;R\le r]` of those predicted no longer [1]_. Sizes and predictions come as
    pairs: a sample, or points of a joint law with weights. Equal predictions are first come first served.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    service_s, predicted_s : sequence of float
        True and predicted sizes, seconds, > 0, as many of each.
    weight : sequence of float, optional
        Probabilities of the pairs, sum 1; equal by default.

    Raises
    ------
    ConfigError
        If a parameter is out of range or the lengths differ.
    UnstableError
        From `solve` if the load is 1 or more.

    References
    ----------
    .. [1] Mitzenmacher (2020), "Scheduling with predictions and the price of misprediction", 11th Innovations
       in Theoretical Computer Science Conference, 14:1-14:18.

    Examples
    --------
    >>> queue = PredictedSJF(rate_rps=0.5, service_s=[1.0, 3.0], predicted_s=[1.0, 2.0], weight=[0.75, 0.25])
    >>> print(f"{queue.solve().mean_wait_s:.4f} {queue.mean_wait_given_prediction_s(1.0):.4f}")
    2.1000 1.2000
    """

    rate_rps: float
    service_s: Sequence[float]
    predicted_s: Sequence[float]
    weight: Sequence[float] | None = None

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps)
        n = len(self.service_s)
        for name, values in (("predicted_s", self.predicted_s), ("weight", self.weight)):
            if values is not None and len(values) != n:
                raise ConfigError(f"{name}: {len(values)} values for {n} sizes; give as many")
        if min(self.service_s, default=0.0) <= 0 or min(self.predicted_s, default=0.0) <= 0:
            raise ConfigError("service_s, predicted_s: every size must be > 0, and there must be some")
        self._sizes()

    def _sizes(self) -> Discrete:
        n = len(self.service_s)
        return Discrete(values=list(self.service_s), probs=list(self.weight) if self.weight else [1 / n] * n)

    def _arrays(self) -> tuple[Floats, Floats, Floats]:
        """Sizes, predictions and probabilities of the pairs."""
        size = np.asarray(self.service_s, dtype=float)
        weight = (
            np.full(size.size, 1 / size.size) if self.weight is None else np.asarray(self.weight, dtype=float)
        )
        return size, np.asarray(self.predicted_s, dtype=float), weight

    def solve(self) -> SizeResult:
        """The steady state."""
        load = require_load_below_one(self.rate_rps, self._sizes())
        size, predicted, weight = self._arrays()
        _, group = np.unique(predicted, return_inverse=True)
        prob = np.bincount(group, weight)
        upto = self.rate_rps * np.cumsum(np.bincount(group, weight * size))
        before = np.concatenate([[0.0], upto[:-1]])
        residual = self.rate_rps * float(weight @ size**2) / 2
        mean_wait_s = float(prob @ (residual / ((1 - before) * (1 - upto))))
        mean_response_s = mean_wait_s + float(weight @ size)
        return SizeResult(
            exactness="exact",
            route="Phipps' formula with the true work below each prediction",
            utilization_frac=load,
            mean_wait_s=mean_wait_s,
            mean_response_s=mean_response_s,
            mean_number=self.rate_rps * mean_response_s,
            mean_queue=self.rate_rps * mean_wait_s,
            prob_wait=load,
            prob_empty=1 - load,
        )

    def mean_wait_given_prediction_s(self, predicted_s: float) -> float:
        """Mean wait of a customer with this prediction, seconds."""
        checks.positive(predicted_s=predicted_s)
        require_load_below_one(self.rate_rps, self._sizes())
        size, predicted, weight = self._arrays()
        work = self.rate_rps * weight * size
        before, upto = float(work[predicted < predicted_s].sum()), float(work[predicted <= predicted_s].sum())
        return float(self.rate_rps * (weight @ size**2) / 2 / ((1 - before) * (1 - upto)))
