"""A quantity that is always the same."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks

from .law import Law

__all__ = ["Constant"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant(Law):
    r"""X = ``value``, with transform :math:`e^{-s x}`.

    Parameters
    ----------
    value : float
        In the unit of X, > 0.

    Raises
    ------
    ConfigError
        If ``value`` is not a finite number above zero.

    Examples
    --------
    >>> law = Constant(value=192)
    >>> law.mean, law.scv, law.cdf(191.0), law.cdf(192.0), str(law)
    (192.0, 0.0, 0.0, 1.0, 'constant(value=192)')
    """

    value: float

    def __post_init__(self) -> None:
        checks.positive(value=self.value)

    @property
    def mean(self) -> float:
        """E[X]."""
        return float(self.value)

    @property
    def var(self) -> float:
        """E[X^2] - E[X]^2."""
        return 0.0

    @property
    def support(self) -> tuple[float, float]:
        """Smallest interval that holds X; the upper end may be infinite."""
        return self.mean, self.mean

    def scaled(self, c: float) -> Constant:
        """Law of ``c`` X, ``c`` > 0."""
        return Constant(value=c * self.value)

    def _cdf(self, x: Floats) -> Floats:
        return np.where(x >= self.value, 1.0, 0.0)

    def _ppf(self, q: Floats) -> Floats:
        return np.full(q.shape, self.mean)

    def _sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        return np.full(size, self.mean)

    def _moment_between(self, k: int, low: float, high: float) -> float:
        return math.pow(self.value, k) if low < self.value <= high else 0.0

    def _lst(self, s: NDArray[np.complex128]) -> NDArray[np.complex128]:
        values: NDArray[np.complex128] = np.exp(-s * self.value)
        return values
