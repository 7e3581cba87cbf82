"""Weibull law by shape and scale."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincc, gammaln

from qtheory.basics import checks
from qtheory.basics.ranges import number_between

from .law import Law

__all__ = ["Weibull"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weibull(Law):
    r"""P(X > x) = :math:`e^{-(x/\lambda)^k}` with shape k and scale :math:`\lambda`.

    With :math:`(X/\lambda)^k = e^v` the transform is :math:`\int e^{v - e^v - s\lambda e^{v/k}} dv`. It is
    taken along :math:`v = x - i\varphi`, which turns both exponentials into the right half plane, by the
    trapezoidal rule; :math:`\varphi` is the share k/(1 + k), at most 2/3, of the argument of s.

    Parameters
    ----------
    shape : float
        k, 0.02 .. 2000; below 1 the tail is heavier than exponential.
    scale : float
        :math:`\lambda` in the unit of X, > 0.

    Raises
    ------
    ConfigError
        If a parameter is out of range, or for a transform at Re s < 0.

    Examples
    --------
    >>> law = Weibull(shape=0.5, scale=1.0)
    >>> print(f"{law.mean:.4f} {law.scv:.4f} {law.lst(1.0):.6f}")
    2.0000 5.0000 0.545641
    """

    shape: float
    scale: float

    def __post_init__(self) -> None:
        checks.positive(shape=self.shape, scale=self.scale)
        number_between("shape", self.shape, 0.02, 2000.0)  # below, even the moments exceed 64 bits

    @property
    def mean(self) -> float:
        """E[X]."""
        return self.moment(1)

    @property
    def var(self) -> float:
        """E[X^2] - E[X]^2."""
        return self.scv * self.mean**2

    @property
    def scv(self) -> float:
        """Squared coefficient of variation, variance / mean^2."""
        return float(np.expm1(gammaln(1.0 + 2.0 / self.shape) - 2.0 * gammaln(1.0 + 1.0 / self.shape)))

    @property
    def support(self) -> tuple[float, float]:
        """Smallest interval that holds X; the upper end may be infinite."""
        return 0.0, math.inf

    def scaled(self, c: float) -> Weibull:
        """Law of ``c`` X, ``c`` > 0."""
        return Weibull(shape=self.shape, scale=c * self.scale)

    def _cdf(self, x: Floats) -> Floats:
        return -np.expm1(-self._hazard(x))

    def _sf(self, x: Floats) -> Floats:
        return np.exp(-self._hazard(x))

    def _hazard(self, x: Floats) -> Floats:
        with np.errstate(over="ignore"):  # infinite: nothing is left
            return np.asarray((x / self.scale) ** self.shape)

    def _ppf(self, q: Floats) -> Floats:
        return self.scale * (-np.log1p(-q)) ** (1.0 / self.shape)

    def _sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        return self.scale * np.asarray(rng.standard_exponential(size)) ** (1.0 / self.shape)

    def _moment_between(self, k: int, low: float, high: float) -> float:
        order = 1.0 + k / self.shape
        whole = math.pow(self.scale, k) * math.gamma(order)
        a, b = math.pow(max(low, 0.0) / self.scale, self.shape), _power(high / self.scale, self.shape)
        if a > order:
            return float(whole * (gammaincc(order, a) - gammaincc(order, b)))
        return float(whole * (gammainc(order, b) - gammainc(order, a)))

    def _lst(self, s: Complexes) -> Complexes:
        self._right_half_plane(s)
        flat = np.atleast_1d(s).ravel() * self.scale
        values = np.array([self._transform(complex(z)) for z in flat])
        return values.reshape(np.shape(s))

    def _transform(self, z: complex) -> complex:
        k = self.shape
        if z == 0:
            return 1.0 + 0.0j
        phi = math.atan2(z.imag, z.real) * min(k / (1.0 + k), 2.0 / 3.0)
        a, b = complex(math.cos(phi), -math.sin(phi)), z * complex(math.cos(phi / k), -math.sin(phi / k))
        # the integrand is e^(x - a e^x - b e^(x/k)); from ``left`` to ``right`` it is above e^-40 of its top
        top = min(0.0, k * math.log(k / b.real))
        right = min(math.log(40.0 / a.real), k * math.log((40.0 + k + math.sqrt(80.0 * k)) / b.real))
        left = min(top, right) - 42.0 - k
        h = min(1.0, k) / 50.0
        x = np.arange(left, right + h, h)
        return complex(a * h * np.exp(x - a * np.exp(x) - b * np.exp(x / k)).sum())


def _power(x: float, k: float) -> float:
    try:
        return math.pow(x, k)
    except OverflowError:
        return math.inf
