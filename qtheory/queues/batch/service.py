"""How long a batch takes: laws of the service time, given the batch size."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant, Discrete, Empirical, Gamma, Law, Rounded

__all__ = ["AffineService", "BatchService", "LongestMemberService", "MaxOf"]

Floats = NDArray[np.float64]
BatchService = Callable[[int], Law]

_EDGE = 8.2  # normal scores beyond leave out 1e-16


@dataclass(frozen=True, slots=True, kw_only=True)
class AffineService:
    r"""A batch of b takes :math:`\tau(b)=\mathrm{base}+\mathrm{slope}\cdot b` seconds on average.

    Parameters
    ----------
    base_s, slope_s : float
        Seconds a batch and seconds a member, >= 0, not both zero.
    scv : float
        Squared coefficient of variation, >= 0: 0 is a constant time, otherwise a gamma time (1: exponential),
        independent of all else.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> service = AffineService(base_s=0.05, slope_s=0.01)
    >>> round(service(4).mean, 6), service(4).scv
    (0.09, 0.0)
    """

    base_s: float
    slope_s: float
    scv: float = 0.0

    def __post_init__(self) -> None:
        checks.non_negative(base_s=self.base_s, slope_s=self.slope_s, scv=self.scv)
        if self.base_s + self.slope_s <= 0:
            raise ConfigError("base_s, slope_s: one of them must be > 0")

    def __call__(self, batch: int) -> Law:
        """The law of the service time of a batch of this size."""
        mean = self.base_s + self.slope_s * batch
        return Gamma(mean=mean, cv=math.sqrt(self.scv)) if self.scv > 0 else Constant(value=mean)


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
        """The whole moment by the trapezoidal rule in normal scores; parts of it as for any law."""
        if low >= self.support[0] or high < self.support[1] or k == 0:
            return Law._moment_between(self, k, low, high)
        self.law.moment(k)  # infinite for the longest if it is for one
        fine, coarse = (self._scored(k, step) for step in (1 / 32, 1 / 16))
        return fine if abs(fine - coarse) < 1e-10 * fine else Law._moment_between(self, k, low, high)

    def _scored(self, k: int, step: float) -> float:
        y = np.arange(-_EDGE, _EDGE, step)
        weight = np.exp(-0.5 * y * y)
        return float(weight @ self._ppf(np.asarray(ndtr(y), dtype=float)) ** k / weight.sum())

    def _inner(self, x: Floats) -> Floats:
        return np.asarray((x - self.shift) / self.factor)

    def _cdf(self, x: Floats) -> Floats:
        return np.asarray(self.law.cdf(self._inner(x)) ** self.n)

    def _sf(self, x: Floats) -> Floats:
        tail = np.asarray(self.law.sf(self._inner(x)))
        with np.errstate(divide="ignore"):
            return np.asarray(-np.expm1(self.n * np.log1p(-tail)), dtype=float)

    def _ppf(self, q: Floats) -> Floats:
        log_q = np.log(q) / self.n
        high = -np.expm1(log_q)  # how far the level of each X is below 1
        level = np.minimum(np.where(high < 0.5, 1.0 - high, np.exp(log_q)), 1.0 - 2.0**-53)
        return np.asarray(self.shift + self.factor * np.asarray(self.law.ppf(level)), dtype=float)

    def _sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        shape = (size,) if isinstance(size, int) else size
        drawn = np.asarray(self.law.sample(rng, (*shape, self.n)))
        return np.asarray(self.shift + self.factor * drawn.max(axis=-1), dtype=float)


@dataclass(frozen=True, slots=True, kw_only=True)
class LongestMemberService:
    r"""A batch runs until its longest member is done: base + slope b + unit max(X_1..X_b) [1]_.

    Parameters
    ----------
    length : Law
        Length X of a member (steps, tokens, bytes).
    unit_s : float
        Seconds per unit of the longest length, > 0.
    base_s, slope_s : float
        Seconds a batch and seconds a member, >= 0.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    References
    ----------
    .. [1] Yang, Xu, Jiao (2024), "A queueing theoretic perspective on low-latency LLM inference with variable
       token length", arXiv:2407.05347.

    Examples
    --------
    >>> from qtheory.laws import Uniform
    >>> service = LongestMemberService(length=Uniform(low=0.0, high=10.0), unit_s=0.1, base_s=0.5)
    >>> round(service(4).mean, 6)  # 0.5 + 0.1 * 10 * 4/5
    1.3
    """

    length: Law
    unit_s: float
    base_s: float = 0.0
    slope_s: float = 0.0

    def __post_init__(self) -> None:
        checks.positive(unit_s=self.unit_s)
        checks.non_negative(base_s=self.base_s, slope_s=self.slope_s)
        if not isinstance(self.length, Law):
            raise ConfigError(f"length: {self.length!r} is not a law; give one of qtheory.laws")

    def __call__(self, batch: int) -> Law:
        """The law of the service time of a batch of this size."""
        shift = self.base_s + self.slope_s * batch
        if isinstance(self.length, Discrete | Empirical | Rounded):
            values, probs = self.length.atoms()
            upto = np.minimum(np.cumsum(probs), 1.0) ** batch
            upto[-1] = 1.0
            probs = np.diff(upto, prepend=0.0)
            return Discrete(values=(shift + self.unit_s * values).tolist(), probs=probs.tolist())
        return MaxOf(law=self.length, n=batch, shift=shift, factor=self.unit_s)
