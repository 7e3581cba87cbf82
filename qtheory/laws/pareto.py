"""Power-law tail, bounded or not."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.ranges import number_between

from .law import Law

__all__ = ["Pareto"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pareto(Law):
    r"""Density proportional to :math:`x^{-\alpha - 1}` on [low, high].

    Without ``high`` only the moments below :math:`\alpha` exist; the others raise. With z = s low the
    transform is then :math:`\alpha E_{\alpha + 1}(z)`, an exponential integral [1]_, taken along the ray on
    which :math:`e^{-zt}` decays without turning, by the double exponential rule.

    Parameters
    ----------
    alpha : float
        Tail index, 0.01 .. 1000.
    low : float
        Smallest value, > 0.
    high : float, optional
        Largest value, > ``low``; without it the law has no upper end.

    Raises
    ------
    ConfigError
        If a parameter is out of range, for a moment that is infinite, or for a transform at Re s < 0.

    References
    ----------
    .. [1] NIST Digital Library of Mathematical Functions, 8.19.

    Examples
    --------
    >>> law = Pareto(alpha=1.5, low=100.0, high=10_000.0)
    >>> print(f"{law.mean:.2f} {law.scv:.3f} {law.sf(1000.0):.5f}")
    270.27 2.700 0.03065
    >>> Pareto(alpha=1.5, low=100.0).moment(2)
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: pareto(alpha=1.5, low=100): moment 2 is infinite or too large
    """

    alpha: float
    low: float
    high: float | None = None

    def __post_init__(self) -> None:
        checks.positive(alpha=self.alpha, low=self.low)
        number_between("alpha", self.alpha, 0.01, 1000.0)
        if self.high is not None:
            checks.positive(high=self.high)
            if not self.high > self.low:
                raise ConfigError(f"high: {self.high} must be > low={self.low}")

    @property
    def mean(self) -> float:
        """E[X]."""
        return self.moment(1)

    @property
    def _inside(self) -> float:
        """1 - r without cancellation."""
        return 1.0 if self.high is None else float(-np.expm1(self.alpha * _log_ratio(self.low, self.high)))

    @property
    def support(self) -> tuple[float, float]:
        """Smallest interval that holds X; the upper end may be infinite."""
        return float(self.low), math.inf if self.high is None else float(self.high)

    def scaled(self, c: float) -> Pareto:
        """Law of ``c`` X, ``c`` > 0."""
        return Pareto(alpha=self.alpha, low=c * self.low, high=None if self.high is None else c * self.high)

    def _cdf(self, x: Floats) -> Floats:
        above = np.minimum(x, min(self.support[1], np.finfo(np.float64).max))
        return np.minimum(-np.expm1(self.alpha * _log_ratio(self.low, above)) / self._inside, 1.0)

    def _sf(self, x: Floats) -> Floats:
        if self.high is None:
            return np.asarray((self.low / x) ** self.alpha)
        below = np.minimum(x, self.high)
        left = -np.expm1(self.alpha * _log_ratio(below, self.high))
        return np.asarray((self.low / below) ** self.alpha * left / self._inside)

    def _ppf(self, q: Floats) -> Floats:
        with np.errstate(over="ignore"):  # beyond any upper end
            found = self.low * (1.0 - q * self._inside) ** (-1.0 / self.alpha)
        return np.minimum(found, self.support[1])

    def _moment_between(self, k: int, low: float, high: float) -> float:
        a, b = max(low, self.support[0]), min(high, self.support[1])
        d = k - self.alpha
        if math.isinf(b) and d >= 0:
            return math.inf
        width = math.inf if math.isinf(b) else math.log1p((b - a) / a)
        grown = width if d == 0 else math.expm1(d * width) / d
        return self.alpha * math.pow(self.low / a, self.alpha) * math.pow(a, k) * grown / self._inside

    def _lst(self, s: Complexes) -> Complexes:
        if self.high is not None:
            return Law._lst(self, s)
        self._right_half_plane(s)
        z = np.atleast_1d(s).ravel()[:, None] * self.low  # (m, 1)
        size, turn = np.abs(z), np.exp(-1j * np.angle(z))
        h, smallest = 1.0 / 32.0, float(size.min())
        end = 41.0 / self.alpha if smallest == 0 else min(41.0 / self.alpha, math.log(60.0 / smallest) + 1.0)
        w = np.arange(-5.0, max(end, 1.0) + h, h)  # (n,)
        ray = np.exp(w - np.exp(-w))  # (n,) distance from t = 1
        measure = h * ray * (1.0 + np.exp(-w))
        integrand = np.exp(-np.minimum(size * ray, 740.0) - (self.alpha + 1.0) * np.log1p(ray * turn))
        values = np.where(
            z[:, 0] == 0, 1.0, self.alpha * np.exp(-z[:, 0]) * turn[:, 0] * (integrand @ measure)
        )
        return np.asarray(values, dtype=np.complex128).reshape(np.shape(s))


def _log_ratio(small: float | Floats, large: float | Floats) -> Floats:
    """log(small / large) for 0 < small <= large, without cancellation where they are close."""
    apart = (np.asarray(large) - small) / large
    with np.errstate(divide="ignore"):  # of the branch that is not taken
        return np.where(apart < 0.5, np.log1p(-apart), np.log(np.asarray(small) / large))
