"""What every probability law offers, and what most of them share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ConvergenceError
from qtheory.numerics.roots import bracketed_root

from ._panels import Panels, stops_between
from .calls import spell

__all__ = ["Law", "far_end", "scv_of"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]
Size = int | tuple[int, ...] | None


class Law(ABC):
    """Law of a random quantity X >= 0: one object describes, transforms and samples.

    A new law is a frozen dataclass derived from this class. It defines ``mean``, ``support``, ``scaled`` and
    ``_cdf``; every other method has a numerical default, to be replaced where there is a formula. Public
    methods take scalars or arrays and answer in kind; the methods with an underscore see arrays only.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> law = Exponential(mean=2.0)
    >>> print(f"{law.moment(2):g} {law.sf(2.0):.4f} {law.lst(0.5):g} {law.ppf(0.5):.4f}")
    8 0.3679 0.5 1.3863
    """

    __slots__ = ()

    if TYPE_CHECKING:  # at run time an inherited property would become the default of a dataclass field

        @property
        def mean(self) -> float:
            """E[X]."""

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """Smallest interval that holds X; the upper end may be infinite."""

    @abstractmethod
    def scaled(self, c: float) -> Law:
        """Law of ``c`` X, ``c`` > 0."""

    @abstractmethod
    def _cdf(self, x: Floats) -> Floats: ...

    @property
    def var(self) -> float:
        """E[X^2] - E[X]^2."""
        return max(self.moment(2) - self.mean**2, 0.0)

    @property
    def scv(self) -> float:
        """Squared coefficient of variation, variance / mean^2."""
        return scv_of(self.mean, self.var)

    def moment(self, k: int) -> float:
        """E[X^k] for a whole number ``k`` >= 0; `ConfigError` where it is infinite."""
        checks.at_least(0, k=k)
        if k == 0:
            return 1.0
        return self._known(k, lambda: self._moment_between(k, -1.0, math.inf))

    def moment_between(self, k: int, low: float, high: float) -> float:
        """E[X^k; low < X <= high], the part of a moment that an interval holds; ``high`` may be infinite."""
        checks.at_least(0, k=k)
        if not low <= high:
            raise ConfigError(f"low={low!r} must not lie above high={high!r}")
        bottom, top = self.support
        if high < bottom or low >= top:
            return 0.0
        return self._known(k, lambda: self._moment_between(k, low, high))

    def _known(self, k: int, compute: Callable[[], float]) -> float:
        try:
            value = compute()
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            raise ConfigError(f"{self}: moment {k} is infinite or too large")
        return value

    @overload
    def cdf(self, x: float) -> float: ...
    @overload
    def cdf(self, x: Floats) -> Floats: ...
    def cdf(self, x: float | Floats) -> float | Floats:
        """P(X <= x)."""
        points = _points("x", x)
        return _like(
            x, np.where(points < self.support[0], 0.0, self._cdf(np.maximum(points, self.support[0])))
        )

    @overload
    def sf(self, x: float) -> float: ...
    @overload
    def sf(self, x: Floats) -> Floats: ...
    def sf(self, x: float | Floats) -> float | Floats:
        """P(X > x)."""
        points = _points("x", x)
        return _like(
            x, np.where(points < self.support[0], 1.0, self._sf(np.maximum(points, self.support[0])))
        )

    @overload
    def ppf(self, q: float) -> float: ...
    @overload
    def ppf(self, q: Floats) -> Floats: ...
    def ppf(self, q: float | Floats) -> float | Floats:
        """Smallest x with P(X <= x) >= q, for q in [0, 1]; the ends of the support at 0 and 1."""
        levels = _points("q", q)
        if np.any((levels < 0) | (levels > 1)):
            raise ConfigError(f"q: {levels[(levels < 0) | (levels > 1)].flat[0]:g} is not in [0, 1]")
        low, high = self.support
        inner = self._ppf(np.where((levels == 0) | (levels == 1), 0.5, levels))
        return _like(q, np.where(levels == 0, low, np.where(levels == 1, high, inner)))

    @overload
    def lst(self, s: float) -> float: ...
    @overload
    def lst(self, s: complex) -> complex: ...
    @overload
    def lst(self, s: Floats) -> Floats: ...
    @overload
    def lst(self, s: Complexes) -> Complexes: ...
    def lst(self, s: complex | Floats | Complexes) -> complex | Floats | Complexes:
        """Laplace-Stieltjes transform E[exp(-s X)] for Re s >= 0.

        To the left of the imaginary axis laws with a closed form continue it; the others refuse.
        """
        given = np.asarray(s)
        values = self._lst(_points("s", given).astype(np.complex128))
        if np.iscomplexobj(given):
            return values if given.ndim else complex(values)
        return values.real if given.ndim else float(values.real)

    @overload
    def sample(self, rng: np.random.Generator, size: None = None) -> float: ...
    @overload
    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats: ...
    def sample(self, rng: np.random.Generator, size: Size = None) -> float | Floats:
        """Independent draws of X; one number without ``size``."""
        drawn = self._sample(rng, () if size is None else size)
        return float(drawn) if size is None else drawn

    def _sf(self, x: Floats) -> Floats:
        return 1.0 - self._cdf(x)

    def _sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        return np.asarray(self._ppf(np.maximum(rng.random(size), 2.0**-54)))

    def _ppf(self, q: Floats) -> Floats:
        """Root of the logarithm of the smaller tail, to the last bit or so."""
        levels = q.ravel()
        bottom, top = self.support

        def gap(x: Floats, which: NDArray[np.intp]) -> Floats:
            level = levels[which]
            lower = level <= 0.5
            gaps = np.empty(len(level))
            gaps[lower] = np.log(np.maximum(self._cdf(x[lower]), 1e-300) / level[lower])
            gaps[~lower] = -np.log(np.maximum(self._sf(x[~lower]), 1e-300) / (1.0 - level[~lower]))
            return gaps

        every = np.arange(len(levels))
        high = np.full(len(levels), min(max(1.0, 2.0 * bottom), top))
        while len(short := every[gap(high, every) < 0]):
            high[short] = np.minimum(16.0 * high[short], top)
        low = high.copy()
        while len(over := every[(gap(low, every) > 0) & (low > bottom)]):
            low[over] = np.where(low[over] > 1e-280, np.maximum(low[over] / 16.0, bottom), bottom)
        inner = every[gap(low, every) < 0]  # the others stand at the lower end
        found = low
        found[inner] = bracketed_root(
            lambda x, which: gap(x, inner[which]), low[inner], high[inner], rtol=1e-15, max_steps=400
        )
        short = inner[gap(found, every)[inner] < 0]
        found[short] = np.minimum(found[short] * (1.0 + 2e-15), top)
        return found.reshape(q.shape)

    def _moment_between(self, k: int, low: float, high: float) -> float:
        """By parts: E[X^k; a < X <= b] = a^k P(a < X <= b) + integral of k x^(k-1) P(x < X <= b)."""
        from scipy.integrate import quad

        start, end = max(low, 0.0), min(high, self.support[1])
        beyond = 0.0 if math.isinf(end) else self.sf(end)
        whole = (self.sf(low) - beyond) * (float(start**k) if low >= 0 else float(k == 0))
        if k == 0 or start >= end:
            return whole
        stops = [x for x in [self.ppf(q) for q in (0.1, 0.5, 0.9, 0.999)] if start < x < end]
        total = whole
        for a, b in zip([start, *stops], [*stops, end], strict=True):
            part, error = quad(lambda x: k * x ** (k - 1) * (self.sf(x) - beyond), a, b, limit=200)
            total += part
            if error > 1e-7 * max(abs(total), 1e-300):
                raise ConvergenceError(f"{self}: moment {k} over ({low:g}, {high:g}] did not converge")
        return total

    def _lst(self, s: Complexes) -> Complexes:
        self._right_half_plane(s)
        low = self.support[0]
        values: Complexes = _panels(self).transform(s) + self.cdf(low) * np.exp(-s * low)
        return values

    def _right_half_plane(self, s: Complexes) -> None:
        if np.any(s.real < 0):
            raise ConfigError(f"s: real part {s.real.min():g} must be >= 0 for the transform of {self}")

    def __str__(self) -> str:
        given = [(f.name, getattr(self, f.name)) for f in fields(self)]  # type: ignore[arg-type]
        shown = ", ".join(
            str(value) if isinstance(value, Law) else f"{name}={spell(value)}"
            for name, value in given
            if value is not None
        )
        return f"{type(self).__name__.lower()}({shown})"


@lru_cache(maxsize=64)
def _panels(law: Law) -> Panels:
    low, high = law.support
    end = high if math.isfinite(high) else far_end(law)
    return Panels.of(law.cdf, law.sf, stops_between(law.ppf, low, end))


def far_end(law: Law) -> float:
    """A point beyond which the law holds less than 1e-18.

    Parameters
    ----------
    law : Law
        With a tail that falls to zero.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> far_end(Exponential(mean=1.0)) > 41.4  # -ln 1e-18
    True
    """
    high = law.ppf(0.5)
    while law.sf(high) > 1e-18:
        high *= 2.0
    return high


def scv_of(mean: float, var: float) -> float:
    """Squared coefficient of variation of a mean and a variance; 0 / 0 is 0.

    Parameters
    ----------
    mean, var : float
        Of one law.

    Examples
    --------
    >>> scv_of(2.0, 1.0), scv_of(0.0, 0.0)
    (0.25, 0.0)
    """
    return var / mean**2 if var else 0.0


def _points(name: str, values: object) -> Floats:
    array = np.asarray(values)
    if array.dtype.kind not in "iufc":
        raise ConfigError(f"{name}: {values!r} is not a number")
    if np.any(np.isnan(array)):
        raise ConfigError(f"{name}: nan is not a number")
    return array if array.dtype.kind == "c" else array.astype(np.float64)


def _like(given: object, values: Floats) -> float | Floats:
    return values if np.ndim(given) else float(values)  # type: ignore[arg-type]
