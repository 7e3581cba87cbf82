"""Shortest job first by a predicted size, without interruption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws.discrete import Discrete

from ._predicted import PredictedRungs
from ._size_laws import RankedWait
from ._sizes import SizeResult, require_load_below_one

__all__ = ["PredictedSJF"]

Floats = NDArray[np.float64]

_MOST_PAIRS = 40_000  # predictions times sizes up to which laws are given


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedSJF:
    r"""Exact M/G/1 where the smallest predicted size goes next, without interruption.

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
        wait, response = self._laws(load)
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
            wait=wait,
            response=response,
            var_response_s2=None if response is None else response.var_s2,
        )

    def _laws(self, load: float) -> tuple[RankedWait | None, RankedWait | None]:
        """Of wait and response; not with so many different predictions that they would take long."""
        size, predicted, weight = self._arrays()
        rungs = PredictedRungs.of(self.rate_rps, size, predicted, weight)
        if len(rungs.weight) * size.size > _MOST_PAIRS:
            return None, None
        (mean, var), (own_mean, own_var) = rungs.waits(), rungs.own_moments()
        prob, whole = rungs.weight, mean + own_mean
        moments = [(mean, var), (whole, var + own_var)]
        means = [float(prob @ m) for m, _ in moments]
        variances = [float(prob @ (v + m**2)) - m0**2 for (m, v), m0 in zip(moments, means, strict=True)]
        wait = RankedWait(
            sizes=lambda: rungs, load=load, is_atomic=True, mean_s=means[0], variance_s2=variances[0]
        )
        return wait, replace(
            wait, mean_s=means[1], variance_s2=variances[1], own=rungs.own, service=self._sizes()
        )

    def mean_wait_given_prediction_s(self, predicted_s: float) -> float:
        """Mean wait of a customer with this prediction, seconds."""
        checks.positive(predicted_s=predicted_s)
        require_load_below_one(self.rate_rps, self._sizes())
        size, predicted, weight = self._arrays()
        work = self.rate_rps * weight * size
        before, upto = float(work[predicted < predicted_s].sum()), float(work[predicted <= predicted_s].sum())
        return float(self.rate_rps * (weight @ size**2) / 2 / ((1 - before) * (1 - upto)))
