"""A fixed part and a random one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from .law import Law

__all__ = ["Shifted"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shifted(Law):
    r"""``shift`` + Y, transform :math:`e^{-s\,\mathrm{shift}}` times that of Y.

    Parameters
    ----------
    law : Law
        Law of Y.
    shift : float
        In the unit of Y, >= 0.

    Raises
    ------
    ConfigError
        If ``shift`` is negative or not finite.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> law = Shifted(law=Exponential(mean=2.0), shift=1.0)
    >>> print(f"{law.mean:g} {law.scv:.4f} {law.moment(2):g} {law}")
    3 0.4444 13 shifted(exponential(mean=2), shift=1)
    """

    law: Law
    shift: float

    def __post_init__(self) -> None:
        if not isinstance(self.law, Law):
            raise ConfigError(f"law: {self.law!r} is not a law")
        checks.non_negative(shift=self.shift)

    @property
    def mean(self) -> float:
        """E[X]."""
        return self.shift + self.law.mean

    @property
    def var(self) -> float:
        """E[X^2] - E[X]^2."""
        return self.law.var

    @property
    def support(self) -> tuple[float, float]:
        """Smallest interval that holds X; the upper end may be infinite."""
        low, high = self.law.support
        return low + self.shift, high + self.shift

    def scaled(self, c: float) -> Shifted:
        """Law of ``c`` X, ``c`` > 0."""
        return Shifted(law=self.law.scaled(c), shift=c * self.shift)

    def _cdf(self, x: Floats) -> Floats:
        return self.law.cdf(x - self.shift)

    def _sf(self, x: Floats) -> Floats:
        return self.law.sf(x - self.shift)

    def _ppf(self, q: Floats) -> Floats:
        return self.shift + self.law.ppf(q)

    def _sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        return self.shift + self.law._sample(rng, size)

    def _moment_between(self, k: int, low: float, high: float) -> float:
        a, b = low - self.shift, high - self.shift
        parts = (
            math.comb(k, j) * self.shift ** (k - j) * self.law.moment_between(j, a, b) for j in range(k + 1)
        )
        return math.fsum(parts)

    def _lst(self, s: Complexes) -> Complexes:
        values: Complexes = np.exp(-s * self.shift) * self.law.lst(s)
        return values
