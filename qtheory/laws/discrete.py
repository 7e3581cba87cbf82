"""Given values with given probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError

from ._atoms import Atomic, checked_probs, checked_values

__all__ = ["Discrete"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Discrete(Atomic):
    """X = ``values[i]`` with probability ``probs[i]``; equal values are put together.

    Parameters
    ----------
    values : sequence of float
        Values >= 0, at least one above zero, in any order.
    probs : sequence of float
        Probabilities >= 0, sum 1.

    Raises
    ------
    ConfigError
        If a number is out of range or the lengths differ.

    Examples
    --------
    >>> law = Discrete(values=[100, 4000], probs=[0.75, 0.25])
    >>> law.mean, law.ppf(0.9), law.sf(100.0)
    (1075.0, 4000.0, 0.25)
    """

    values: Sequence[float]
    probs: Sequence[float]

    def __post_init__(self) -> None:
        values = checked_values("values", self.values)
        probs = checked_probs("probs", self.probs, len(values))
        if max(values) == 0:
            raise ConfigError("values: all are 0; at least one must be > 0")
        together: dict[float, list[float]] = {}
        for value, prob in zip(values, probs, strict=True):
            if prob > 0:
                together.setdefault(value, []).append(prob)
        object.__setattr__(self, "values", tuple(sorted(together)))
        object.__setattr__(self, "probs", tuple(math.fsum(together[value]) for value in self.values))

    @cached_property
    def _arrays(self) -> tuple[Floats, Floats]:
        return np.array(self.values), np.array(self.probs)

    def atoms(self) -> tuple[Floats, Floats]:
        """Values, increasing, and their probabilities."""
        return self._arrays

    def scaled(self, c: float) -> Discrete:
        """Law of ``c`` X, ``c`` > 0."""
        return Discrete(values=[c * value for value in self.values], probs=self.probs)
