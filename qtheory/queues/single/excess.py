"""What is left of a service, a vacation or a set-up when somebody arrives in the middle of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_legendre

from qtheory.basics.errors import ConfigError, ServingError
from qtheory.laws.law import Law

from ._common import atoms_of

__all__ = ["Excess", "require_law", "tail_quadrature"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_ORDER = 14  # moments in the series for small s
_NEAR = 1.5  # where |s| mean is below, rounding is looked after
_GOOD, _FAILS = 1e-14, 5e-12
_COARSE, _FINE, _PANEL_NODES = 1.5, 0.25, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Excess:
    r"""Exact law of the excess (residual life) :math:`X_e` of X: density :math:`P(X>t)/E[X]`.

    Near s = 0 its transform :math:`(1-E[e^{-sX}])/(sE[X])` loses digits; there the series
    :math:`\sum_j(-s)^jE[X^{j+1}]/((j+1)!\,E[X])` takes over, whichever of the two errs less.

    Parameters
    ----------
    law : Law
        The law of X, with a mean above zero.

    Raises
    ------
    ConfigError
        If ``law`` is not a law or its mean is zero; from a moment that is infinite.

    References
    ----------
    .. [1] Wolff (1989), "Stochastic Modeling and the Theory of Queues", Prentice Hall, section 2-4.

    Examples
    --------
    >>> from qtheory.laws import Constant
    >>> left = Excess(law=Constant(value=2.0))  # uniform on [0, 2]
    >>> left.mean_s, round(float(left.lst(np.array([1e-9 + 0j]))[0].real), 9)
    (1.0, 0.999999999)
    """

    law: Law

    def __post_init__(self) -> None:
        require_law(law=self.law)

    @property
    def mean_s(self) -> float:
        """E[X^2] / (2 E[X]), seconds."""
        return self.moment(1)

    def moment(self, k: int) -> float:
        """E[X_e^k] = E[X^(k+1)] / ((k+1) E[X])."""
        return self.law.moment(k + 1) / ((k + 1) * self.law.mean)

    def lst(self, s: Complexes) -> Complexes:
        """E[exp(-s X_e)], accurate at small ``s`` too."""
        return self.transforms(s)[1]

    def deficit(self, s: Complexes) -> Complexes:
        """(1 - E[exp(-s X_e)]) / (s E[X_e]): the excess of the excess, accurate at small ``s`` too."""
        return self.transforms(s)[2]

    def transforms(self, s: Complexes) -> tuple[Complexes, Complexes, Complexes]:
        """E[exp(-s X)], `lst` and `deficit` from one evaluation of the law's transform."""
        whole = self.law.lst(s)
        mean, excess_mean = self.law.mean, self.mean_s
        with np.errstate(divide="ignore", invalid="ignore"):
            first = (1.0 - whole) / (s * mean)
            second = (1.0 - first) / (s * excess_mean)
        size = np.abs(s) * mean
        near = size < _NEAR
        if near.any():
            worst = np.broadcast_to(np.min(size, axis=-1, keepdims=True), s.shape)[near]
            first[near], second[near] = self._mended(s[near], first[near], second[near], worst)
        return whole, first, second

    def _mended(
        self, s: Complexes, first: Complexes, second: Complexes, worst: Floats
    ) -> tuple[Complexes, Complexes]:
        """The two quotients, replaced where the series or a quadrature errs less.

        The quadrature is for rows with an argument so small (``worst``) that the quotient fails there; all
        small arguments of the row then take it: a change of method within a row is worse than either error.
        """
        excess_mean = self.mean_s
        lst_error, can_integrate = _lst_error(self.law)
        spread = excess_mean / self.law.mean
        with np.errstate(divide="ignore"):
            rounding = lst_error / (np.abs(s) ** 2 * self.law.mean * excess_mean)
            fails = lst_error / (worst**2 * spread) > _FAILS
        series, error = self._series(s)
        second = np.where(error < rounding, series, second)
        bad = fails & (np.minimum(error, rounding) > _GOOD)
        if can_integrate and bad.any():
            second[bad] = _integrated(self.law, s[bad])
        small = (np.abs(s) * excess_mean < 0.5) | (rounding > _GOOD)
        return np.where(small, 1.0 - s * excess_mean * second, first), second

    def sf(self, t: Floats) -> Floats:
        """P(X_e > t) = E[(X - t)+] / E[X], for any law with a finite mean."""
        times = np.maximum(np.asarray(t, dtype=float), 0.0)
        beyond = [
            self.law.moment_between(1, x, math.inf) - x * self.law.sf(x) for x in times.ravel().tolist()
        ]
        return np.asarray(beyond, dtype=float).reshape(times.shape) / self.law.mean

    def _series(self, s: Complexes) -> tuple[Complexes, Floats]:
        """The power series of `deficit` up to its smallest term, and the size of that term."""
        value = np.zeros(s.shape, dtype=np.complex128)
        power = np.ones(s.shape, dtype=np.complex128)
        smallest = np.full(s.shape, np.inf)
        growing = np.zeros(s.shape, dtype=bool)
        for c in _coefficients(self.law):
            term = c * power
            size = np.abs(term)
            growing |= size > smallest  # an asymptotic series: stop where the terms grow again
            value = np.where(growing, value, value + term)
            smallest = np.where(growing, smallest, size)
            power = power * -s
        return value, smallest


@lru_cache(maxsize=128)
def _coefficients(law: Law) -> tuple[float, ...]:
    """E[X^j] / j! for j >= 2, as far as the law has them, divided by the first."""
    found: list[float] = []
    for j in range(2, 2 + _ORDER):
        try:
            found.append(law.moment(j) / math.factorial(j))
        except ServingError:
            break
    return tuple(c / found[0] for c in found)


@lru_cache(maxsize=128)
def _lst_error(law: Law) -> tuple[float, bool]:
    """Error of the law's transform near 0, measured against a quadrature; and if that one is any good."""
    if atoms_of(law) is not None:
        return 2e-16, False
    mean, excess_mean = law.mean, law.moment(2) / (2 * law.mean)
    s = np.asarray(np.array([0.3, 0.4 + 0.5j, 1.0]) / mean, dtype=np.complex128)
    quotient = (1 - (1 - law.lst(s)) / (s * mean)) / (s * excess_mean)
    gap = np.abs(quotient - _integrated(law, s)) * np.abs(s) ** 2 * mean * excess_mean
    error = float(np.max(gap))
    return (2e-16, False) if error > 1e-10 else (max(error, 2e-16), True)


def _integrated(law: Law, s: Complexes) -> Complexes:
    r"""The deficit as :math:`(2/E[X^2])\int P(X>x)\,x\,\frac{1-e^{-sx}}{sx}dx`: all digits at small s."""
    x, weight = tail_quadrature(law)
    y = s[:, None] * x
    return np.asarray((-np.expm1(-y) / y) @ (x * weight)) * (2 / law.moment(2))


@lru_cache(maxsize=128)
def tail_quadrature(law: Law, *, fine: float = _FINE, high: float | None = None) -> tuple[Floats, Floats]:
    """Nodes x, and weights with which a sum over them is the integral with P(X > x) dx.

    Gauss-Legendre panels on a logarithmic scale, from 1e-9 means up to where x^2 P(X > x) is negligible.

    Parameters
    ----------
    law : Law
        A law without atoms.
    fine : float
        Logarithm of the ratio of the ends of a panel, above a fiftieth of the mean.
    high : float, optional
        Where to end, for a law without a second moment.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> x, weight = tail_quadrature(Exponential(mean=2.0))
    >>> round(float(weight.sum()), 12), round(float(2 * weight @ x), 12)  # E[X], E[X^2]
    (2.0, 8.0)
    """
    mean, (low, end) = law.mean, law.support
    if high is not None:
        high = min(high, end)
    elif math.isinf(high := end):
        high, second = mean, law.moment(2)
        while high**2 * law.sf(high) > 1e-17 * second:
            high *= 2.0
    bend = 0.02 * mean
    stops = [1e-9 * mean, *(x for x in sorted({bend, low}) if 1e-9 * mean < x < high), high]
    node, weight = roots_legendre(_PANEL_NODES)
    xs, weights = [], []
    for start, stop in pairwise(stops):
        n_panels = math.ceil(math.log(stop / start) / (_COARSE if stop <= bend else fine))
        half = 0.5 * math.log(stop / start) / n_panels
        centre = math.log(start) + half * (2 * np.arange(n_panels) + 1)
        xs.append(np.exp(centre[:, None] + half * node).ravel())
        weights.append(np.tile(half * weight, n_panels))
    first = 0.5e-9 * mean * (1 + node)  # below the first panel
    x = np.concatenate([first, *xs])
    return x, law.sf(x) * np.concatenate(
        [0.5e-9 * mean * weight, np.concatenate(xs) * np.concatenate(weights)]
    )


def require_law(**given: object) -> None:
    """Let laws with a mean above zero pass.

    Parameters
    ----------
    **given : Law
        Each under the name that the message is to have.

    Raises
    ------
    ConfigError
        If one is not a law, or its mean is not above zero.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> require_law(service=Exponential(mean=1.0))
    """
    for name, value in given.items():
        if not isinstance(value, Law):
            raise ConfigError(
                f"{name}: {value!r} is not a law; give one of qtheory.laws, as Exponential(mean=0.1)"
            )
        if not value.mean > 0:
            raise ConfigError(f"{name}: its mean {value.mean:g} must be > 0")
