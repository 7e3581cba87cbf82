"""Memoryless times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks

from ._gamma import GammaShaped

__all__ = ["Exponential"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exponential(GammaShaped):
    r"""Density :math:`\mu e^{-\mu x}` with :math:`\mu = 1/m`, transform :math:`\mu / (\mu + s)`.

    Parameters
    ----------
    mean : float
        E[X] = m, > 0.

    Raises
    ------
    ConfigError
        If ``mean`` is not a finite number above zero.

    Examples
    --------
    >>> law = Exponential(mean=0.5)
    >>> law.scv, law.moment(3), law.lst(2.0)
    (1.0, 0.75, 0.5)
    """

    mean: float

    def __post_init__(self) -> None:
        checks.positive(mean=self.mean)

    @property
    def _shape(self) -> float:
        return 1.0

    @property
    def _scale(self) -> float:
        return float(self.mean)

    def scaled(self, c: float) -> Exponential:
        """Law of ``c`` X, ``c`` > 0."""
        return Exponential(mean=c * self.mean)

    def _cdf(self, x: Floats) -> Floats:
        return -np.expm1(-x / self.mean)

    def _sf(self, x: Floats) -> Floats:
        return np.exp(-x / self.mean)

    def _ppf(self, q: Floats) -> Floats:
        return -self.mean * np.log1p(-q)

    def _sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        return self.mean * np.asarray(rng.standard_exponential(size))

    def _lst(self, s: NDArray[np.complex128]) -> NDArray[np.complex128]:
        return 1.0 / (1.0 + s * self.mean)
