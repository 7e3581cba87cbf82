"""Uniform law on an interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from .law import Law

__all__ = ["Uniform"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniform(Law):
    r"""Equal density on [low, high]; transform :math:`e^{-s a}(1 - e^{-s w})/(s w)`, w = high - low.

    Parameters
    ----------
    low : float
        Lower end a, >= 0.
    high : float
        Upper end, > ``low``.

    Raises
    ------
    ConfigError
        If an end is not finite or they are out of order.

    Examples
    --------
    >>> law = Uniform(low=1.0, high=3.0)
    >>> print(f"{law.mean:g} {law.var:.4f} {law.lst(1.0):.6f}")
    2 0.3333 0.159046
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        checks.non_negative(low=self.low, high=self.high)
        if not self.high > self.low:
            raise ConfigError(f"high: {self.high} must be > low={self.low}")

    @property
    def mean(self) -> float:
        """E[X]."""
        return 0.5 * (self.low + self.high)

    @property
    def var(self) -> float:
        """E[X^2] - E[X]^2."""
        return (self.high - self.low) ** 2 / 12.0

    @property
    def support(self) -> tuple[float, float]:
        """Smallest interval that holds X; the upper end may be infinite."""
        return float(self.low), float(self.high)

    def scaled(self, c: float) -> Uniform:
        """Law of ``c`` X, ``c`` > 0."""
        return Uniform(low=c * self.low, high=c * self.high)

    def _cdf(self, x: Floats) -> Floats:
        return np.clip((x - self.low) / (self.high - self.low), 0.0, 1.0)

    def _sf(self, x: Floats) -> Floats:
        return np.clip((self.high - x) / (self.high - self.low), 0.0, 1.0)

    def _ppf(self, q: Floats) -> Floats:
        return self.low + (self.high - self.low) * q

    def _moment_between(self, k: int, low: float, high: float) -> float:
        """(b^(k+1) - a^(k+1)) / (k+1) = (b - a) times the mean of a^i b^(k-i)."""
        a, b = max(low, float(self.low)), min(high, float(self.high))
        powers = sum(a**i * b ** (k - i) for i in range(k + 1)) / (k + 1)
        return (b - a) * powers / (self.high - self.low)

    def _lst(self, s: NDArray[np.complex128]) -> NDArray[np.complex128]:
        w = s * (self.high - self.low)
        flat = np.where(w == 0, 1.0, -np.expm1(-w) / np.where(w == 0, 1.0, w))
        values: NDArray[np.complex128] = np.exp(-s * self.low) * flat
        return values
