"""How long requests decode beside each other: those of one moment, and those of moments apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .demand import Demand

__all__ = ["moments_apart", "together_frac"]

Floats = NDArray[np.float64]

_CELLS = 1024


def together_frac(demand: Demand) -> float:
    r"""Decode steps that two requests of one moment do beside each other, to those of one.

    That is :math:`E[\min(d,d')]/E[d]`: half for exponential outputs, one if all are equal. With what comes
    in excess of a Poisson process it makes the variance of what runs [1]_.

    References
    ----------
    .. [1] Eckberg (1983), "Generalized peakedness of teletraffic processes", 10th International Teletraffic
       Congress, Montreal.
    """
    if not demand.mean_decode:
        return 1.0
    steps, alive = _alive(demand)
    return float(np.diff(steps, prepend=0.0) @ alive**2) / demand.mean_decode


def moments_apart(demand: Demand) -> tuple[Floats, Floats]:
    r"""Decode steps (k,) between two arrivals, and weights with which pairs that far apart count.

    A request that follows another by t steps is beside it for :math:`R(t)=\int P(d>s)P(d>s+t)ds` steps in the
    mean; so what follows within t counts by the decrease of R at t.
    """
    steps, alive = _alive(demand)
    cell = max(float(steps[-1]), 1.0) / _CELLS
    middle = np.asarray(cell * (np.arange(_CELLS) + 0.5), dtype=np.float64)
    there = alive[np.minimum(np.searchsorted(steps, middle), len(steps) - 1)]
    beside = np.fft.irfft(np.abs(np.fft.rfft(there, 2 * _CELLS)) ** 2, 2 * _CELLS)[:_CELLS]
    weights = -np.diff(beside, append=0.0)
    return middle, np.asarray(weights / weights.sum())


def _alive(demand: Demand) -> tuple[Floats, Floats]:
    """Decode steps (m,) in order, and the share of requests that have at least so many."""
    order = np.argsort(demand.decode_steps)
    alive: Floats = np.cumsum(demand.decode_probs[order][::-1])[::-1]
    return demand.decode_steps[order], alive
