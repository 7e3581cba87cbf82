"""Choice between exponential laws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._atoms import checked_probs, checked_values
from .exponential import Exponential
from .law import Law

__all__ = ["Hyperexponential"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyperexponential(Law):
    r"""Exponential of mean ``means[i]`` with probability ``probs[i]``; SCV >= 1.

    Transform :math:`\sum_i p_i / (1 + s m_i)`. `fit_two_moments` finds the one with two balanced phases.

    Parameters
    ----------
    probs : sequence of float
        Probabilities, >= 0, sum 1.
    means : sequence of float
        Means of the phases, > 0, as many.

    Raises
    ------
    ConfigError
        If a parameter is out of range or the lengths differ.

    Examples
    --------
    >>> law = Hyperexponential(probs=[0.9, 0.1], means=[1.0, 11.0])
    >>> print(f"{law.mean:g} {law.scv:.2f} {law.sf(20.0):.5f}")
    2 5.50 0.01623
    """

    probs: Sequence[float]
    means: Sequence[float]

    def __post_init__(self) -> None:
        means = checked_values("means", self.means, above_zero=True)
        object.__setattr__(self, "means", means)
        object.__setattr__(self, "probs", checked_probs("probs", self.probs, len(means)))

    @property
    def mean(self) -> float:
        """E[X]."""
        return math.fsum(p * m for p, m in zip(self.probs, self.means, strict=True))

    @property
    def support(self) -> tuple[float, float]:
        """Smallest interval that holds X; the upper end may be infinite."""
        return 0.0, math.inf

    def scaled(self, c: float) -> Hyperexponential:
        """Law of ``c`` X, ``c`` > 0."""
        return Hyperexponential(probs=self.probs, means=[c * m for m in self.means])

    def _cdf(self, x: Floats) -> Floats:
        return np.asarray(-np.expm1(-x[..., None] / np.asarray(self.means)) @ np.asarray(self.probs))

    def _sf(self, x: Floats) -> Floats:
        return np.asarray(np.exp(-x[..., None] / np.asarray(self.means)) @ np.asarray(self.probs))

    def _sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        phase = np.searchsorted(np.cumsum(self.probs)[:-1], rng.random(size), side="right")
        return np.asarray(self.means)[phase] * rng.standard_exponential(size)

    def _moment_between(self, k: int, low: float, high: float) -> float:
        phases = zip(self.probs, self.means, strict=True)
        return math.fsum(p * Exponential(mean=m)._moment_between(k, low, high) for p, m in phases)

    def _lst(self, s: NDArray[np.complex128]) -> NDArray[np.complex128]:
        values: NDArray[np.complex128] = (1.0 / (1.0 + s[..., None] * np.asarray(self.means))) @ np.asarray(
            self.probs
        )
        return values
