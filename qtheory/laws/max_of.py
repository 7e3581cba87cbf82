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
from .uniform import Uniform

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
        """The whole moment by one of two rules, see `_power`; parts of it as for any law."""
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
        r"""E[max^k], by a rule as fine as the step.

        The integral of :math:`k e^{ku}P(\max>e^u)` over u by the trapezoidal rule; between ends, where that
        has corners, the integral of :math:`k x^{k-1}P(\max>x)` by Gauss's.
        """
        if self.n == 1:
            return self.law.moment(k)
        low, high = self.law.support
        if math.isfinite(high):
            place, weight = np.polynomial.legendre.leggauss(round(8 / step))
            x = low + (high - low) / 2 * (1.0 + place)
            inside = (high - low) / 2 * float(weight @ (k * x ** (k - 1) * self._longest_tail(x)))
            return low**k + inside
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
        """Closed form for exponential X (times between the ends) or uniform X, else by quadrature."""
        if isinstance(self.law, Exponential):
            steps = self.factor * self.law.mean / np.arange(1, self.n + 1)
            values = np.exp(-s * self.shift) / np.prod(1.0 + s[..., None] * steps, axis=-1)
            return np.asarray(values, dtype=np.complex128)
        if isinstance(self.law, Uniform):
            low, high = self.support
            self._right_half_plane(s)
            return np.asarray(np.exp(-s * low) * _power_lst(self.n, s * (high - low)), dtype=np.complex128)
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


def _power_lst(n: int, s: Complexes) -> Complexes:
    r"""Transform :math:`M_n=\int_0^1 nx^{n-1}e^{-sx}dx` of the longest of n uniform times on [0, 1].

    Along :math:`M_k=\frac ks(M_{k-1}-e^{-s})`: up from 1 for :math:`|s|>n`, else down from far above,
    so that errors shrink at every step.
    """
    end = np.exp(-s)
    far = np.abs(s) > n
    safe = np.where(far, s, 1.0)
    up = np.ones_like(s)
    for k in range(1, n + 1):
        up = k / safe * (up - end)
    near = np.where(far, 0.0, s)
    down = end.copy()
    for k in range(2 * n + 60, n, -1):
        down = near / k * down + end
    return np.asarray(np.where(far, up, down), dtype=np.complex128)
