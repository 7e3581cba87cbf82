"""Laws of a time that is known by its transform or by a sum of exponentials: tails and percentiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ConvergenceError

from .inversion import Transform, invert_laplace
from .roots import quantile

__all__ = ["ExponentialSum", "ShiftedLaw", "TransformLaw"]

Floats = NDArray[np.float64]

_ROUNDING = 1e-8  # a tail this far outside [0, 1] is rounding; beyond it is an error
_MAX_TERMS = 3072
_NOISE = 5e-12  # error of an inversion
_DEEP = 1e-4  # below it a known decay rate is used
_DEEPEST = 1e-9  # smallest tail that an inversion without a known decay rate can resolve


def _as_tail(values: Floats, t: Floats, rounding: float = _ROUNDING) -> Floats:
    """The values, with rounding outside [0, 1] taken off; more than rounding is an error."""
    if np.any((values < -rounding) | (values > 1 + rounding)):
        k = int(np.argmax(np.abs(values - 0.5)))
        raise ConvergenceError(
            f"P(T > {t.flat[k]:.6g}) came out as {values.flat[k]:.6g}; the transform is off"
        )
    return np.clip(values, 0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformLaw:
    r"""A time of which the Laplace transform of the tail is known; tails by inversion, exact to about 1e-10.

    Parameters
    ----------
    tail_lst : callable (complex array) -> complex array
        :math:`\int_0^\infty e^{-st}\,[P(T>t)-K(t)]\,dt` for Re s > 0, with the known part :math:`K`.
    mean_s : float
        Mean, seconds.
    variance_s2 : float or None
        Variance, seconds squared; None if it is infinite.
    prob_positive : float
        P(T > 0), in [0, 1].
    known_tail : callable or None
        :math:`K(t)`: a part of the tail in closed form, taken out because of its jumps or kinks.
    find_decay : callable () -> float, optional
        Gives a rate :math:`\eta`, per second, at which the tail falls exponentially, with ``tail_lst`` finite
        for Re s > :math:`-\eta` (0: none is known). Asked only for tails below 1e-4, which then keep their
        relative accuracy however deep they are.
    tol, worst : float
        Error aimed at, and largest error estimate that is accepted, beside a kink.
    cause : str
        What is infinite where ``variance_s2`` is None, for the message.

    Raises
    ------
    ConfigError
        From ``var_s2`` if the variance is infinite.
    ConvergenceError
        If the inversion fails, or a percentile lies beyond its accuracy.

    Examples
    --------
    >>> law = TransformLaw(tail_lst=lambda s: 1 / (s + 2.0), mean_s=0.5, variance_s2=0.25)
    >>> float(law.ppf(0.99).round(8)), float(law.sf(1.0).round(9))
    (2.30258509, 0.135335283)
    """

    tail_lst: Transform
    mean_s: float
    variance_s2: float | None = None
    prob_positive: float = 1.0
    known_tail: Callable[[Floats], Floats] | None = None
    find_decay: Callable[[], float] | None = None
    tol: float = 2e-11
    worst: float = 1e-6
    cause: str = "a moment that it needs is infinite"

    @property
    def var_s2(self) -> float:
        """Variance, seconds squared; an infinite one is an error."""
        if self.variance_s2 is None:
            raise ConfigError(f"variance: infinite, since {self.cause}; percentiles and tails exist")
        return self.variance_s2

    def sf(self, t: ArrayLike) -> Floats:
        """P(T > t), broadcasting over t in seconds."""
        times = np.asarray(t, dtype=float)
        tail = np.where(times < 0, 1.0, self.prob_positive)
        later = times > 0
        if np.any(later):
            tail[later] = self._later_tail(times[later])
        return _as_tail(tail, times, self.worst)

    def _later_tail(self, t: Floats) -> Floats:
        rest = invert_laplace(self.tail_lst, t, tol=self.tol, worst=self.worst, max_terms=_MAX_TERMS)
        deep = np.abs(rest) < _DEEP
        decay = 0.98 * self._decay() if deep.any() else 0.0
        if decay > 0:
            with np.errstate(under="ignore"):
                tilted = invert_laplace(lambda s: self.tail_lst(s - decay), t[deep], tol=1e-9, worst=1e-3)
                rest[deep] = np.exp(-decay * t[deep]) * tilted
        return rest + self.known_tail(t) if self.known_tail else rest

    def _decay(self) -> float:
        return self.find_decay() if self.find_decay else 0.0

    def ppf(self, q: ArrayLike) -> Floats:
        """Smallest t >= 0 with P(T <= t) >= q, broadcasting over q in (0, 1)."""
        levels = np.asarray(q, dtype=float)
        if np.any((levels < 1) & (1 - levels < _DEEPEST)) and self._decay() <= 0:
            raise ConvergenceError(
                f"q: {np.max(levels):.12g} lies beyond 1 - {_DEEPEST:g}, what the inversion can resolve; "
                "ask for a lower percentile"
            )
        if self.prob_positive <= 0:
            return np.zeros(levels.shape)
        noise = np.full(levels.shape, max(_NOISE, 0.1 * self.tol))
        deep = (1 - levels < _DEEP) & (levels < 1)
        if np.any(deep) and self._decay() > 0:
            noise = np.where(deep, 1e-9 * (1 - levels), noise)
        return quantile(self.sf, levels, scale=self.mean_s / self.prob_positive, rtol=1e-11, noise=noise)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialSum:
    r"""A time with the tail :math:`\mathrm{Re}\sum_iw_ie^{-r_it}`: exact, the deep tail included.

    Parameters
    ----------
    weights : sequence of complex
        :math:`w_i`; their sum is P(T > 0), in [0, 1].
    rates_per_s : sequence of complex
        :math:`r_i`, real parts > 0; complex ones in conjugate pairs.

    Raises
    ------
    ConfigError
        If a rate has no positive real part or the weights do not sum to a probability.

    Examples
    --------
    >>> wait = ExponentialSum(weights=(0.5,), rates_per_s=(1.0,))  # M/M/1 at half load
    >>> wait.mean_s, float(wait.ppf(0.9).round(6)), float(wait.ppf(0.5))
    (0.5, 1.609438, 0.0)
    """

    weights: tuple[complex, ...]
    rates_per_s: tuple[complex, ...]

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.rates_per_s):
            raise ConfigError(
                f"weights: {len(self.weights)} of them for {len(self.rates_per_s)} rates; give one a rate"
            )
        if any(complex(rate).real <= 0 for rate in self.rates_per_s):
            raise ConfigError(f"rates_per_s: {self.rates_per_s} must have real parts > 0")
        if not -_ROUNDING <= self.prob_positive <= 1 + _ROUNDING:
            raise ConfigError(f"weights: their sum {self.prob_positive:g} must be a probability")

    @property
    def prob_positive(self) -> float:
        """P(T > 0)."""
        return float(complex(sum(self.weights)).real)

    @property
    def mean_s(self) -> float:
        """Mean, seconds."""
        return float(sum(complex(w / r).real for w, r in zip(self.weights, self.rates_per_s, strict=True)))

    @property
    def var_s2(self) -> float:
        """Variance, seconds squared."""
        second = sum(complex(2 * w / r**2).real for w, r in zip(self.weights, self.rates_per_s, strict=True))
        return float(second - self.mean_s**2)

    def sf(self, t: ArrayLike) -> Floats:
        """P(T > t), broadcasting over t in seconds."""
        times = np.asarray(t, dtype=float)
        late = np.maximum(times, 0.0)
        with np.errstate(under="ignore"):
            tail = (np.exp(-late[..., None] * np.asarray(self.rates_per_s)) @ np.asarray(self.weights)).real
        return _as_tail(np.where(times < 0, 1.0, tail), times)

    def ppf(self, q: ArrayLike) -> Floats:
        """Smallest t >= 0 with P(T <= t) >= q, broadcasting over q in (0, 1)."""
        if len(self.weights) > 1:
            return quantile(self.sf, q, scale=self.mean_s / self.prob_positive)
        slowest = complex(self.rates_per_s[0]).real
        levels = np.asarray(q, dtype=float)
        if not np.all((levels > 0) & (levels < 1)):
            raise ConfigError(f"q: {levels} must lie strictly between 0 and 1")
        if self.prob_positive <= 0:
            return np.zeros(levels.shape)
        return np.maximum(np.log(self.prob_positive / (1 - levels)) / slowest, 0.0)


class _AnyLaw(Protocol):
    """What a shifted law asks of the law it shifts."""

    @property
    def mean_s(self) -> float: ...
    @property
    def var_s2(self) -> float: ...
    def sf(self, t: ArrayLike) -> Floats: ...
    def ppf(self, q: ArrayLike) -> Floats: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftedLaw:
    """A time plus a constant: the response of a constant service, for instance.

    Parameters
    ----------
    law : a law of a time
        The random part, with ``mean_s``, ``var_s2``, ``sf`` and ``ppf``.
    shift_s : float
        The constant, seconds, >= 0.

    Raises
    ------
    ConfigError
        If ``shift_s`` is negative.

    Examples
    --------
    >>> response = ShiftedLaw(law=ExponentialSum(weights=(0.5,), rates_per_s=(1.0,)), shift_s=2.0)
    >>> response.mean_s, float(response.ppf(0.4)), float(response.sf(1.9))
    (2.5, 2.0, 1.0)
    """

    law: _AnyLaw
    shift_s: float

    def __post_init__(self) -> None:
        checks.non_negative(shift_s=self.shift_s)

    @property
    def mean_s(self) -> float:
        """Mean, seconds."""
        return self.law.mean_s + self.shift_s

    @property
    def var_s2(self) -> float:
        """Variance, seconds squared."""
        return self.law.var_s2

    def sf(self, t: ArrayLike) -> Floats:
        """P(T > t), broadcasting over t in seconds."""
        return self.law.sf(np.asarray(t, dtype=float) - self.shift_s)

    def ppf(self, q: ArrayLike) -> Floats:
        """Smallest t with P(T <= t) >= q, broadcasting over q in (0, 1)."""
        return np.asarray(self.law.ppf(q)) + self.shift_s
