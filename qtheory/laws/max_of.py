"""The largest of several independent times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from .exponential import Exponential
from .law import Law

__all__ = ["MaxOf"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]


@dataclass(frozen=True, kw_only=True)
class MaxOf(Law):
    r"""Law of :math:`a + c\max(X_1,\dots,X_n)` for independent X of one law.

    Parameters
    ----------
    law : Law
        The law of each X.
    n : int
        How many, >= 1.
    shift, factor : float
        :math:`a\ge0` and :math:`c>0`.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> print(f"{MaxOf(law=Exponential(mean=1.0), n=3).mean:.6f}")  # 1 + 1/2 + 1/3
    1.833333
    """

    law: Law
    n: int
    shift: float = 0.0
    factor: float = 1.0

    def __post_init__(self) -> None:
        checks.integer(n=self.n)
        checks.non_negative(shift=self.shift)
        checks.positive(factor=self.factor)
        if not isinstance(self.law, Law):
            raise ConfigError(f"law: {self.law!r} is not a law; give one of qtheory.laws")

    @property
    def mean(self) -> float:
        """E[X]."""
        return self._first

    @cached_property
    def _first(self) -> float:
        return self.moment(1)

    @property
    def support(self) -> tuple[float, float]:
        """Smallest interval that holds X."""
        low, high = self.law.support
        return self.shift + self.factor * low, self.shift + self.factor * high

    def scaled(self, c: float) -> MaxOf:
        """Law of ``c`` X, ``c`` > 0."""
        return MaxOf(law=self.law, n=self.n, shift=c * self.shift, factor=c * self.factor)

    def _moment_between(self, k: int, low: float, high: float) -> float:
        """The whole moment by the trapezoidal rule on a logarithmic scale; parts of it as for any law."""
        if low >= self.support[0] or high < self.support[1] or k == 0:
            return Law._moment_between(self, k, low, high)
        self.law.moment(k)  # infinite for the longest if it is for one
        powers = [1.0]
        for i in range(1, k + 1):
            fine, coarse = (self._power(i, step) for step in (1 / 16, 1 / 8))
            if abs(fine - coarse) > 1e-9 * fine:
                return Law._moment_between(self, k, low, high)
            powers.append(fine)
        return math.fsum(
            math.comb(k, i) * self.shift ** (k - i) * self.factor**i * power for i, power in enumerate(powers)
        )

    def _power(self, k: int, step: float) -> float:
        r"""E[max^k] as the integral of :math:`k e^{ku}P(\max>e^u)` over u."""
        middle = math.log(float(self.law.ppf(0.5 ** (1.0 / self.n))))
        u = middle + step * np.arange(-int(45.0 / k / step), int(min(80.0, 690.0 / k) / step))
        with np.errstate(under="ignore"):
            terms = k * np.exp(k * (u - middle)) * self._longest_tail(np.exp(u))
        return float(step * terms.sum()) * math.exp(k * middle)

    def _longest_tail(self, x: Floats) -> Floats:
        """P(max > x)."""
        tail = np.asarray(self.law.sf(x), dtype=float)
        with np.errstate(divide="ignore"):
            return np.asarray(-np.expm1(self.n * np.log1p(-tail)), dtype=float)

    def _lst(self, s: Complexes) -> Complexes:
        """Closed form for exponential X (times between the ends), else from the distribution function."""
        if isinstance(self.law, Exponential):
            steps = self.factor * self.law.mean / np.arange(1, self.n + 1)
            values = np.exp(-s * self.shift) / np.prod(1.0 + s[..., None] * steps, axis=-1)
            return np.asarray(values, dtype=np.complex128)
        return Law._lst(self, s)

    def _inner(self, x: Floats) -> Floats:
        return np.asarray((x - self.shift) / self.factor)

    def _cdf(self, x: Floats) -> Floats:
        return np.asarray(self.law.cdf(self._inner(x)) ** self.n)

    def _sf(self, x: Floats) -> Floats:
        return self._longest_tail(self._inner(x))

    def _ppf(self, q: Floats) -> Floats:
        log_q = np.log(q) / self.n
        high = -np.expm1(log_q)  # how far the level of each X is below 1
        level = np.minimum(np.where(high < 0.5, 1.0 - high, np.exp(log_q)), 1.0 - 2.0**-53)
        return np.asarray(self.shift + self.factor * np.asarray(self.law.ppf(level)), dtype=float)

    def _sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        shape = (size,) if isinstance(size, int) else size
        drawn = np.asarray(self.law.sample(rng, (*shape, self.n)))
        return np.asarray(self.shift + self.factor * drawn.max(axis=-1), dtype=float)
