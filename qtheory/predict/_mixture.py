"""Laws of the closed tier: groups of requests with a fixed and a gamma part each, over many rates at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammainc, log_ndtr, ndtr

__all__ = ["Mixture"]

Floats = NDArray[np.float64]
Law = Literal["gamma", "passage", "bounded", "even"]

_HALVINGS, _FEWER = 12, 8  # the second where a law takes long; between the last two the law is a line


@dataclass(frozen=True, eq=False)
class Mixture:
    """Groups (g,) or (g, r): nothing above the ``base`` (g, r) with probability ``none``, else a law."""

    probs: Floats
    base: Floats
    none: Floats
    above: Floats  # mean and second moment of the gamma law
    second: Floats
    law: Law = "gamma"  # "passage" of a Brownian motion, "bounded", a beta law up to ``most``, or "even"
    most: Floats | None = None

    @cached_property
    def mean(self) -> Floats:
        """Means (r,)."""
        return self._over_groups(self.base + (1 - self.none) * self.above)

    @cached_property
    def var(self) -> Floats:
        """Variances (r,)."""
        both = self.base**2 + (1 - self.none) * (2 * self.base * self.above + self.second)
        return np.asarray(np.maximum(self._over_groups(both) - self.mean**2, 0.0))

    def _over_groups(self, values: Floats) -> Floats:
        """Means (r,) of values (g, r)."""
        return np.asarray(self.probs @ values if self.probs.ndim == 1 else (self.probs * values).sum(axis=0))

    def _cdf(self, t: Floats) -> Floats:
        over = t - self.base
        if self._is_fixed:
            return self._over_groups((over >= 0).astype(float))
        tail = self._law(np.maximum(over, 1e-12))
        return self._over_groups((over >= 0) * (self.none + (1 - self.none) * tail))

    @cached_property
    def _is_fixed(self) -> bool:
        """Whether there is nothing but atoms."""
        return bool(np.all(self.none >= 1))

    @cached_property
    def _gamma(self) -> tuple[Floats, Floats]:
        """Shape, and the reciprocal of the scale, of the gamma laws."""
        var = np.maximum(self.second - self.above**2, 1e-6 * self.above**2)
        return self.above**2 / var, self.above / var

    def _law(self, times_s: Floats) -> Floats:
        """Share of what is above the base that is no longer."""
        if self.law == "passage":
            return self._passed(times_s)
        if self.law == "even":  # from 0 to twice the mean
            return np.asarray(np.minimum(times_s / (2 * self.above), 1.0))
        if self.most is not None:
            return self._bounded(times_s, self.most)
        shape, scale = self._gamma
        return np.asarray(gammainc(shape, times_s * scale))

    def _bounded(self, times_s: Floats, most: Floats) -> Floats:
        """Beta law with the two moments."""
        mean = np.clip(self.above / most, 1e-9, 1 - 1e-9)
        var = np.clip(self.second / most**2 - mean**2, 1e-6 * mean**2, 0.99 * mean * (1 - mean))
        total = mean * (1 - mean) / var - 1
        return np.asarray(betainc(mean * total, (1 - mean) * total, np.minimum(times_s / most, 1.0)))

    def _passed(self, times_s: Floats) -> Floats:
        r"""Inverse Gaussian law [1]_: :math:`\Phi(\sqrt{k/x}(x/m-1))+e^{2k/m}\Phi(-\sqrt{k/x}(x/m+1))`.

        References
        ----------
        .. [1] Chhikara and Folks (1989), "The inverse Gaussian distribution", chapter 2.
        """
        shape = self._gamma[0]  # k/m, so that the variance is m^3/k
        x = times_s / self.above
        root = np.sqrt(shape / x)
        back = np.exp(np.minimum(2 * shape + log_ndtr(-root * (x + 1)), 0.0))
        return np.asarray(np.minimum(ndtr(root * (x - 1)) + back, 1.0))

    def stretched(self, factors: Floats, shares: Floats) -> Mixture:
        """Every group in kinds whose gamma part is longer or shorter."""
        k, (g, _) = len(factors), self.base.shape
        scale = np.tile(factors, (g, 1))
        repeated = (np.repeat(np.broadcast_to(part, self.base.shape), k, axis=0) for part in
                    (self.base, self.none, self.above, self.second))  # fmt: skip
        base, none, above, second = repeated
        return Mixture(np.outer(self.probs, shares).ravel(), base, none, above * scale, second * scale**2)

    def quantile(self, level: float) -> Floats:
        """Seconds (r,) not exceeded with probability ``level``, between the bounds of Cantelli [1]_.

        References
        ----------
        .. [1] Cantelli (1928), "Sui confini della probabilità", Atti del Congresso Internazionale dei
           Matematici 6, 47-59.
        """
        spread = np.sqrt(self.var)
        low = np.maximum(self.mean - spread * np.sqrt((1 - level) / level) - 1e-9, 0.0)
        high = self.mean + spread * np.sqrt(level / (1 - level)) + 1e-9
        at_low, at_high = np.zeros_like(low), np.ones_like(high)
        for _ in range(_FEWER if self.law == "bounded" else _HALVINGS):
            middle = (low + high) / 2
            share = self._cdf(middle)
            under = share < level
            low, high = np.where(under, middle, low), np.where(under, high, middle)
            at_low, at_high = np.where(under, share, at_low), np.where(under, at_high, share)
        part = (level - at_low) / np.maximum(at_high - at_low, 1e-12)
        return np.asarray(low + np.clip(part, 0.0, 1.0) * (high - low))

    def within(self, limit_s: float | None) -> Floats:
        """Probability (r,) of at most ``limit_s``; of anything if there is no limit."""
        return np.ones_like(self.mean) if limit_s is None else self._cdf(np.full_like(self.mean, limit_s))
