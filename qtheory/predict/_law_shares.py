"""Laws of the closed tier with two given moments: what share is no longer than a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammainc, log_ndtr, ndtr

__all__ = ["Law", "Shares"]

Floats = NDArray[np.float64]
Law = Literal["gamma", "passage", "bounded", "even"]

_POINTS = 49  # of a table
_BELOW, _ABOVE = 6.0, 7.0  # standard deviations


@dataclass(frozen=True, eq=False)
class Shares:
    """Laws (..., r) of a kind with these means and second moments; beta laws up to ``most`` (r,)."""

    law: Law
    mean: Floats
    second: Floats
    most: Floats | None = None

    def __call__(self, times_s: Floats) -> Floats:
        """Share of each law that is no longer."""
        if self.law == "passage":
            return self._passed(times_s)
        if self.law == "even":  # from 0 to twice the mean
            return np.asarray(np.minimum(times_s / (2 * self.mean), 1.0))
        if self.most is not None:
            a, b = self._beta
            return np.asarray(betainc(a, b, np.minimum(times_s / self.most, 1.0)))
        shape, scale = self._gamma
        return np.asarray(gammainc(shape, times_s * scale))

    @cached_property
    def _gamma(self) -> tuple[Floats, Floats]:
        """Shape, and the reciprocal of the scale."""
        var = np.maximum(self.second - self.mean**2, 1e-6 * self.mean**2)
        return self.mean**2 / var, self.mean / var

    @cached_property
    def _beta(self) -> tuple[Floats, Floats]:
        """Parameters of the beta law of what a time is of the bound."""
        most = np.asarray(self.most)
        mean = np.clip(self.mean / most, 1e-9, 1 - 1e-9)
        var = np.clip(self.second / most**2 - mean**2, 1e-6 * mean**2, 0.99 * mean * (1 - mean))
        total = mean * (1 - mean) / var - 1
        return mean * total, (1 - mean) * total

    def _passed(self, times_s: Floats) -> Floats:
        r"""Inverse Gaussian law [1]_: :math:`\Phi(\sqrt{k/x}(x/m-1))+e^{2k/m}\Phi(-\sqrt{k/x}(x/m+1))`.

        References
        ----------
        .. [1] Chhikara and Folks (1989), "The inverse Gaussian distribution", chapter 2.
        """
        shape = self._gamma[0]  # k/m, so that the variance is m^3/k
        x = times_s / self.mean
        root = np.sqrt(shape / x)
        back = np.exp(np.minimum(2 * shape + log_ndtr(-root * (x + 1)), 0.0))
        return np.asarray(np.minimum(ndtr(root * (x - 1)) + back, 1.0))

    def tabled(self, times_s: Floats) -> Floats:
        """The same (levels, ..., r), by lines between points: gamma and beta laws for many times."""
        low, step, known = self._table
        place = (self._coordinate(times_s) - low) / step
        below = np.clip(place, 0, _POINTS - 2).astype(np.intp)
        share = np.clip(place - below, 0.0, 1.0)
        at = below * low.size + np.arange(low.size).reshape(low.shape)
        return np.asarray((1 - share) * known[at] + share * known[at + low.size])

    @cached_property
    def _table(self) -> tuple[Floats, Floats, Floats]:
        """First coordinates, steps, and shares (points, ...) in one row, even in the coordinate."""
        if self.most is None:
            middle, spread = np.ones_like(self.mean), 1 / (3 * np.sqrt(self._gamma[0]))
            top = middle + _ABOVE * spread
        else:
            a, b = self._beta
            middle, spread = np.arcsin(np.sqrt(a / (a + b))), 1 / (2 * np.sqrt(a + b + 1))
            top = np.minimum(middle + _ABOVE * spread, np.pi / 2)
        low = np.maximum(middle - _BELOW * spread, 0.0)
        step = (top - low) / (_POINTS - 1)
        points = low + step * np.arange(_POINTS).reshape(-1, *np.ones(low.ndim, dtype=int))
        return low, step, self(self._time_s(points)).ravel()

    def _coordinate(self, times_s: Floats) -> Floats:
        """In which laws are nearly normal: the third root of a gamma law [1]_, the angle of a share [2]_.

        References
        ----------
        .. [1] Wilson and Hilferty (1931), "The distribution of chi-square", Proceedings of the National
           Academy of Sciences 17, 684-688.
        .. [2] Freeman and Tukey (1950), "Transformations related to the angular and the square root", Annals
           of Mathematical Statistics 21, 607-611.
        """
        if self.most is None:
            return np.cbrt(times_s / self.mean)
        return np.arcsin(np.sqrt(np.minimum(times_s / self.most, 1.0)))

    def _time_s(self, coordinate: Floats) -> Floats:
        if self.most is None:
            return np.asarray(self.mean * coordinate**3)
        return np.asarray(self.most * np.sin(coordinate) ** 2)
