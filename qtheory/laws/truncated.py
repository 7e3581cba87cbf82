"""A law given that it falls in an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from ._atoms import Atomic, weighted_transform
from ._panels import Panels, stops_between
from .law import Law, far_end

__all__ = ["Truncated"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_LEAST_MASS = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated(Law):
    """Law of X given ``low`` <= X <= ``high``; draws outside are as if drawn again, not moved to an end.

    Parameters
    ----------
    law : Law
        Law of X. Its mean is that before truncation.
    low : float
        Lower end, >= 0 (default 0).
    high : float, optional
        Upper end, > ``low``; without it there is none.

    Raises
    ------
    ConfigError
        If the ends are out of order or the law holds less than 1e-6 between them.

    Examples
    --------
    >>> from qtheory.laws import Lognormal
    >>> law = Truncated(law=Lognormal(mean=1000, cv=1), low=1, high=8192)
    >>> print(f"{law.mean:.2f} {law.ppf(1.0):g}")
    984.17 8192
    >>> str(law)
    'truncated(lognormal(mean=1000, cv=1), low=1, high=8192)'
    """

    law: Law
    low: float = 0.0
    high: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.law, Law):
            raise ConfigError(f"law: {self.law!r} is not a law")
        checks.non_negative(low=self.low)
        if self.high is not None:
            checks.positive(high=self.high)
            if self.high < self.low:
                raise ConfigError(f"high: {self.high} must be > low={self.low}")
        if self._mass < _LEAST_MASS:
            ends = f"[{self.low:g}, {'inf' if self.high is None else format(self.high, 'g')}]"
            raise ConfigError(
                f"low, high: {self.law} holds {self._mass:.1g} in {ends}; at least 1e-6 is needed"
            )

    @property
    def _ends(self) -> tuple[float, float]:
        """The interval as (a, b] with a just below ``low``."""
        return float(np.nextafter(self.low, -math.inf)), math.inf if self.high is None else float(self.high)

    @property
    def _mass(self) -> float:
        return self.law.moment_between(0, *self._ends)

    @property
    def mean(self) -> float:
        """E[X]."""
        return self.moment(1)

    @property
    def support(self) -> tuple[float, float]:
        """Smallest interval that holds X; the upper end may be infinite."""
        low, high = self.law.support
        return max(low, float(self.low)), min(high, self._ends[1])

    def scaled(self, c: float) -> Truncated:
        """Law of ``c`` X, ``c`` > 0."""
        return Truncated(
            law=self.law.scaled(c), low=c * self.low, high=None if self.high is None else c * self.high
        )

    def _cdf(self, x: Floats) -> Floats:
        return np.clip((self.law.cdf(x) - self.law.cdf(self._ends[0])) / self._mass, 0.0, 1.0)

    def _sf(self, x: Floats) -> Floats:
        beyond = self.law.sf(self._ends[1])
        return np.clip((self.law.sf(x) - beyond) / self._mass, 0.0, 1.0)

    def _ppf(self, q: Floats) -> Floats:
        level = self.law.cdf(self._ends[0]) + q * self._mass
        return np.clip(self.law.ppf(np.minimum(level, 1.0)), *self.support)

    def _moment_between(self, k: int, low: float, high: float) -> float:
        a, b = max(low, self._ends[0]), min(high, self._ends[1])
        return self.law.moment_between(k, a, b) / self._mass

    def _lst(self, s: Complexes) -> Complexes:
        if isinstance(self.law, Atomic):
            values, probs = self.law.atoms()
            inside = (values > self._ends[0]) & (values <= self._ends[1])
            return weighted_transform(values[inside], probs[inside] / self._mass, s)
        self._right_half_plane(s)
        return _panels(self).transform(s) / self._mass


@lru_cache(maxsize=64)
def _panels(truncated: Truncated) -> Panels:
    law, (low, high) = truncated.law, truncated.support
    start = min(truncated._ends[0], low)  # just below ``low``, so that an atom there is inside
    end = high if math.isfinite(high) else far_end(law)
    return Panels.of(law.cdf, law.sf, stops_between(truncated.ppf, start, end))
