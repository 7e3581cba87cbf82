"""Choice between laws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError

from ._atoms import checked_probs
from .law import Law

__all__ = ["Mixture"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture(Law):
    """X follows ``laws[i]`` with probability ``weights[i]``.

    Parameters
    ----------
    laws : sequence of Law
        At least one.
    weights : sequence of float
        Probabilities >= 0, sum 1, as many.

    Raises
    ------
    ConfigError
        If a weight is out of range or the lengths differ.

    Examples
    --------
    >>> from qtheory.laws import Constant, Exponential
    >>> law = Mixture(laws=[Constant(value=1.0), Exponential(mean=3.0)], weights=[0.75, 0.25])
    >>> print(f"{law.mean:g} {law.var:g} {law.cdf(1.0):.4f} {law}")
    1.5 3 0.8209 mixture(laws=[constant(value=1), exponential(mean=3)], weights=[0.75, 0.25])
    """

    laws: Sequence[Law]
    weights: Sequence[float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "laws", tuple(self.laws))
        for law in self.laws:
            if not isinstance(law, Law):
                raise ConfigError(f"laws: {law!r} is not a law")
        object.__setattr__(self, "weights", checked_probs("weights", self.weights, len(self.laws)))

    def _parts(self) -> list[tuple[float, Law]]:
        return [(w, law) for w, law in zip(self.weights, self.laws, strict=True) if w > 0]

    @property
    def mean(self) -> float:
        """E[X]."""
        return math.fsum(w * law.mean for w, law in self._parts())

    @property
    def var(self) -> float:
        """E[X^2] - E[X]^2."""
        return math.fsum(w * (law.var + (law.mean - self.mean) ** 2) for w, law in self._parts())

    @property
    def support(self) -> tuple[float, float]:
        """Smallest interval that holds X; the upper end may be infinite."""
        ends = [law.support for _, law in self._parts()]
        return min(low for low, _ in ends), max(high for _, high in ends)

    def scaled(self, c: float) -> Mixture:
        """Law of ``c`` X, ``c`` > 0."""
        return Mixture(laws=[law.scaled(c) for law in self.laws], weights=self.weights)

    def _cdf(self, x: Floats) -> Floats:
        return np.asarray(sum(w * law.cdf(x) for w, law in self._parts()))

    def _sf(self, x: Floats) -> Floats:
        return np.asarray(sum(w * law.sf(x) for w, law in self._parts()))

    def _sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        parts = self._parts()
        chosen = np.searchsorted(np.cumsum([w for w, _ in parts])[:-1], rng.random(size), side="right")
        drawn = np.empty(np.shape(chosen))
        for i, (_, law) in enumerate(parts):
            here = chosen == i
            drawn[here] = law.sample(rng, int(np.count_nonzero(here)))
        return drawn

    def _moment_between(self, k: int, low: float, high: float) -> float:
        return math.fsum(w * law.moment_between(k, low, high) for w, law in self._parts())

    def _lst(self, s: Complexes) -> Complexes:
        return np.asarray(sum(w * law.lst(s) for w, law in self._parts()))
