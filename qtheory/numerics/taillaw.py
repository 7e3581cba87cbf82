"""Law of a time of which the tail itself can be computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from qtheory.basics.errors import ConvergenceError

from .roots import quantile

__all__ = ["TailLaw"]

Floats = NDArray[np.float64]

_ROUNDING = 1e-8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TailLaw:
    """A time with a computable tail P(T > t); percentiles by root finding on its logarithm.

    Parameters
    ----------
    tail : callable (array) -> array
        P(T > t) for a flat array of t >= 0.
    mean_s : float
        Mean, seconds.
    variance_s2 : float or callable () -> float
        Variance, seconds squared; a callable is asked only when the variance is.
    scale_s : float
        A time of the order of T where T > 0, > 0: where the search for a percentile starts.
    spread_s : float or None
        The standard deviation or so of a law that is nearer to a normal than to an exponential one, > 0: the
        search starts at the percentile of the normal law.

    Raises
    ------
    ConvergenceError
        If the tail leaves [0, 1] by more than rounding.

    Examples
    --------
    >>> law = TailLaw(tail=lambda t: 0.5 * np.exp(-t), mean_s=0.5, variance_s2=0.75, scale_s=1.0)
    >>> float(law.ppf(0.9).round(6)), float(law.sf(-1.0))
    (1.609438, 1.0)
    """

    tail: Callable[[Floats], Floats]
    mean_s: float
    variance_s2: float | Callable[[], float]
    scale_s: float
    spread_s: float | None = None

    @property
    def var_s2(self) -> float:
        """Variance, seconds squared."""
        return self.variance_s2() if callable(self.variance_s2) else self.variance_s2

    def sf(self, t: ArrayLike) -> Floats:
        """P(T > t), broadcasting over t in seconds."""
        times = np.asarray(t, dtype=float)
        flat = np.atleast_1d(times).ravel()
        found = np.ones(flat.shape)
        later = flat >= 0
        if later.any():
            found[later] = self.tail(flat[later])
        if np.any(~((found > -_ROUNDING) & (found < 1 + _ROUNDING))):
            k = int(np.argmax(np.abs(found - 0.5)))
            raise ConvergenceError(
                f"P(T > {flat[k]:.6g}) came out as {found[k]:.6g}; the numerical solution is off"
            )
        return np.clip(found, 0.0, 1.0).reshape(times.shape)

    def ppf(self, q: ArrayLike) -> Floats:
        """Smallest t >= 0 with P(T <= t) >= q, broadcasting over q in (0, 1)."""
        if self.spread_s is None:
            return quantile(self.sf, q, scale=self.scale_s)
        inner = np.clip(q, 1e-15, 1.0 - 1e-15)
        first = np.maximum(self.mean_s + self.spread_s * ndtri(inner), 0.1 * self.mean_s)
        return quantile(self.sf, q, scale=first / np.maximum(-np.log1p(-inner), 0.1))
