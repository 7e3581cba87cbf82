"""Laws of the closed tier: groups of requests with a fixed and a gamma part each, over many rates at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

__all__ = ["Mixture"]

Floats = NDArray[np.float64]

_HALVINGS = 30


@dataclass(frozen=True, eq=False)
class Mixture:
    """Groups (g,): nothing above the ``base`` (g, r) with probability ``none``, else a gamma law."""

    probs: Floats
    base: Floats
    none: Floats
    above: Floats  # mean and second moment of the gamma law
    second: Floats

    @property
    def mean(self) -> Floats:
        """Means (r,)."""
        return np.asarray(self.probs @ (self.base + (1 - self.none) * self.above))

    @property
    def var(self) -> Floats:
        """Variances (r,)."""
        both = self.base**2 + (1 - self.none) * (2 * self.base * self.above + self.second)
        return np.asarray(np.maximum(self.probs @ both - self.mean**2, 0.0))

    def _cdf(self, t: Floats) -> Floats:
        var = np.maximum(self.second - self.above**2, 1e-6 * self.above**2)
        over = t - self.base
        tail = gammainc(self.above**2 / var, np.maximum(over, 0.0) * self.above / var)
        return np.asarray(self.probs @ ((over >= 0) * (self.none + (1 - self.none) * tail)))

    def stretched(self, factors: Floats, shares: Floats) -> Mixture:
        """Every group in kinds whose gamma part is longer or shorter."""
        k, (g, _) = len(factors), self.base.shape
        scale = np.tile(factors, (g, 1))
        repeated = (np.repeat(np.broadcast_to(part, self.base.shape), k, axis=0) for part in
                    (self.base, self.none, self.above, self.second))  # fmt: skip
        base, none, above, second = repeated
        return Mixture(np.outer(self.probs, shares).ravel(), base, none, above * scale, second * scale**2)

    def quantile(self, level: float) -> Floats:
        """Seconds (r,) not exceeded with probability ``level``."""
        low, high = np.zeros_like(self.mean), self.mean + 60 * np.sqrt(self.var) + 1e-9
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            under = self._cdf(middle) < level
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        return np.asarray((low + high) / 2)

    def within(self, limit_s: float | None) -> Floats:
        """Probability (r,) of at most ``limit_s``; of anything if there is no limit."""
        return np.ones_like(self.mean) if limit_s is None else self._cdf(np.full_like(self.mean, limit_s))
