"""What gamma, Erlang and exponential laws share: shape and scale."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv, log1p

from .law import Law

__all__ = ["GammaShaped"]

Floats = NDArray[np.float64]


class GammaShaped(Law):
    r"""Density :math:`x^{k-1} e^{-x/\theta} / (\Gamma(k)\,\theta^k)` with shape k and scale theta."""

    __slots__ = ()

    @property
    @abstractmethod
    def _shape(self) -> float: ...

    @property
    @abstractmethod
    def _scale(self) -> float: ...

    @property
    def var(self) -> float:
        return self._shape * self._scale**2

    @property
    def scv(self) -> float:
        return 1.0 / self._shape

    @property
    def support(self) -> tuple[float, float]:
        return 0.0, math.inf

    def _cdf(self, x: Floats) -> Floats:
        return np.asarray(gammainc(self._shape, x / self._scale))

    def _sf(self, x: Floats) -> Floats:
        return np.asarray(gammaincc(self._shape, x / self._scale))

    def _ppf(self, q: Floats) -> Floats:
        found, lower = np.empty(q.shape), q <= 0.5
        found[lower] = gammaincinv(self._shape, q[lower])
        found[~lower] = gammainccinv(self._shape, 1.0 - q[~lower])
        return self._scale * found

    def _sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        return self._scale * np.asarray(rng.standard_gamma(self._shape, size))

    def _moment_between(self, k: int, low: float, high: float) -> float:
        """A power of x raises the shape: E[X^k; A] = E[X^k] P(Y in A), Y of shape + k."""
        whole = math.prod(self._shape + i for i in range(k)) * math.pow(self._scale, k)
        a, b = max(low, 0.0) / self._scale, high / self._scale
        shape = self._shape + k
        if a > shape:
            return float(whole * (gammaincc(shape, a) - gammaincc(shape, b)))
        return float(whole * (gammainc(shape, b) - gammainc(shape, a)))

    def _lst(self, s: NDArray[np.complex128]) -> NDArray[np.complex128]:
        values: NDArray[np.complex128] = np.exp(-self._shape * log1p(s * self._scale))
        return values
