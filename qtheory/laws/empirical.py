"""The law of a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError

from ._atoms import Atomic, checked_values

__all__ = ["Empirical"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Empirical(Atomic):
    """Each of the given values with the same probability; nothing between or beyond them.

    Parameters
    ----------
    values : sequence of float
        Observed values >= 0, at least one above zero; kept in increasing order.

    Raises
    ------
    ConfigError
        If there are none or one is out of range.

    Examples
    --------
    >>> law = Empirical(values=[30, 10, 20, 20])
    >>> law.mean, law.cdf(20.0), law.ppf(0.75)
    (20.0, 0.75, 20.0)
    """

    values: Sequence[float]

    def __post_init__(self) -> None:
        values = checked_values("values", self.values)
        if max(values) == 0:
            raise ConfigError("values: all are 0; at least one must be > 0")
        object.__setattr__(self, "values", tuple(sorted(values)))

    @cached_property
    def _arrays(self) -> tuple[Floats, Floats]:
        values, counts = np.unique(np.array(self.values), return_counts=True)
        return values, counts / len(self.values)

    def atoms(self) -> tuple[Floats, Floats]:
        """Values, increasing, and their probabilities."""
        return self._arrays

    def scaled(self, c: float) -> Empirical:
        """Law of ``c`` X, ``c`` > 0."""
        return Empirical(values=[c * value for value in self.values])
