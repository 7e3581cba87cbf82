"""Laws on countably many values: sorted atoms and their probabilities."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from .law import Law

__all__ = ["Atomic", "checked_probs", "checked_values", "weighted_transform"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]


class Atomic(Law):
    """A law that is a finite list of atoms."""

    @abstractmethod
    def atoms(self) -> tuple[Floats, Floats]:
        """Distinct values in increasing order and their probabilities, both of shape (n,)."""

    @cached_property
    def _below(self) -> Floats:
        return np.asarray(np.minimum(np.concatenate([[0.0], np.cumsum(self.atoms()[1])]), 1.0))

    @cached_property
    def _above(self) -> Floats:
        return np.asarray(np.minimum(np.concatenate([np.cumsum(self.atoms()[1][::-1])[::-1], [0.0]]), 1.0))

    @cached_property
    def _mean(self) -> float:
        return self.moment(1)

    @property
    def mean(self) -> float:
        return self._mean

    @property
    def var(self) -> float:
        values, probs = self.atoms()
        return float(probs @ (values - self.mean) ** 2)

    @property
    def support(self) -> tuple[float, float]:
        values = self.atoms()[0]
        return float(values[0]), float(values[-1])

    def _rank(self, x: Floats) -> NDArray[np.intp]:
        return np.asarray(np.searchsorted(self.atoms()[0], x, side="right"))

    def _cdf(self, x: Floats) -> Floats:
        rank = self._rank(x)
        return np.where(rank == len(self._below) - 1, 1.0, self._below[rank])

    def _sf(self, x: Floats) -> Floats:
        return np.asarray(self._above[self._rank(x)])

    def _ppf(self, q: Floats) -> Floats:
        values = self.atoms()[0]
        rank = np.searchsorted(self._below[1:], q, side="left")
        return np.asarray(values[np.minimum(rank, len(values) - 1)])

    def _moment_between(self, k: int, low: float, high: float) -> float:
        values, probs = self.atoms()
        inside = (values > low) & (values <= high)
        with np.errstate(over="ignore"):
            return float(probs[inside] @ values[inside] ** k)

    def _lst(self, s: Complexes) -> Complexes:
        return weighted_transform(*self.atoms(), s)


def weighted_transform(values: Floats, probs: Floats, s: Complexes) -> Complexes:
    """Sum of probs * exp(-s values), a few million terms at a time."""
    flat = np.atleast_1d(s).ravel()
    parts = np.array_split(flat, 1 + len(flat) * len(values) // 2_000_000)
    sums = np.concatenate([np.exp(-part[:, None] * values) @ probs for part in parts])
    return np.asarray(sums.reshape(np.shape(s)), dtype=np.complex128)


def checked_values(name: str, values: Sequence[float], *, above_zero: bool = False) -> tuple[float, ...]:
    """The numbers as a tuple of floats; `ConfigError` if there are none or one is out of range."""
    numbers = tuple(values.tolist() if isinstance(values, np.ndarray) else values)
    if not numbers:
        raise ConfigError(f"{name}: empty; give at least one number")
    check = checks.positive if above_zero else checks.non_negative
    for number in numbers:
        check(**{name: number})
    return tuple(float(number) for number in numbers)


def checked_probs(name: str, probs: Sequence[float], n: int) -> tuple[float, ...]:
    """The probabilities as a tuple of sum 1; `ConfigError` unless there are ``n`` with sum 1 within 1e-9."""
    numbers = checked_values(name, probs)
    if len(numbers) != n:
        raise ConfigError(f"{name}: {len(numbers)} given, {n} needed")
    total = math.fsum(numbers)
    if abs(total - 1.0) > 1e-9:
        raise ConfigError(f"{name}: sum {total:g} must be 1")
    return numbers if total == 1.0 else tuple(number / total for number in numbers)
