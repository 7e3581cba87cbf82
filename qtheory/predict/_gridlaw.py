"""The law of a time as points of its distribution function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["GridLaw", "law_of_atoms", "mixed_law"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class GridLaw:
    """Distribution function ``cdf`` (k,) at ``times_s`` (k,), linear in between, with its exact mean."""

    times_s: Floats
    cdf: Floats
    mean_s: float

    def quantile(self, q: float) -> float:
        """Seconds not exceeded with probability ``q``."""
        return float(np.interp(q * self.cdf[-1], self.cdf, self.times_s))

    def within(self, limit_s: float | None) -> float:
        """Probability of at most ``limit_s``; of anything if there is no limit."""
        if limit_s is None:
            return 1.0
        return float(np.interp(limit_s, self.times_s, self.cdf, left=0.0, right=1.0))


def mixed_law(parts: Sequence[tuple[float, GridLaw]]) -> GridLaw:
    """The law of a time that is of one kind or another; weights need not add up to one."""
    total = sum(weight for weight, _ in parts)
    times = np.unique(np.concatenate([law.times_s for _, law in parts]))
    cdf = sum(
        weight / total * np.interp(times, law.times_s, law.cdf, left=0.0, right=1.0) for weight, law in parts
    )
    mean = sum(weight / total * law.mean_s for weight, law in parts)
    return GridLaw(times_s=times, cdf=np.asarray(cdf), mean_s=float(mean))


def law_of_atoms(times_s: Floats, weights: Floats, n: int = 6000) -> GridLaw:
    """The law of many atoms, on a grid that keeps the mean."""
    total = float(weights.sum())
    weights = weights / total
    top = float(times_s[weights > 1e-13].max())
    step = top / n
    place = np.minimum(times_s / step, n - 1e-9)
    low = place.astype(np.intp)
    share = place - low
    mass = np.bincount(low, weights * (1 - share), n + 2) + np.bincount(low + 1, weights * share, n + 2)
    grid = step * np.arange(n + 2.0)
    return GridLaw(times_s=grid, cdf=np.minimum(np.cumsum(mass), 1.0), mean_s=float(times_s @ weights))
