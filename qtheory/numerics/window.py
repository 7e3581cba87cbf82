"""Inversion of a Laplace transform for all times around one, from a single set of its values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import binom

from qtheory.basics import checks
from qtheory.basics.errors import ConvergenceError

from .inversion import AVERAGED, DAMPING, FIRST_TERMS, Transform

__all__ = ["Window", "euler_factors", "window_around", "window_of_few"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_FEW, _ROUGH = (13, 11, 15.0), (8, 7, 11.0)


def euler_factors(ratio: Floats, n_terms: int, averaged: int, damping: float) -> Complexes:
    r"""Factors, (ratio, term), of the values at (damping / 2 + i pi k) / t for the function at ratio x t.

    The Fourier series at another time than its own is a power series on the unit circle at
    :math:`z=e^{i\pi\,ratio}`; averaging partial sums with the weights :math:`1/(1-z)` and :math:`-z/(1-z)`
    takes the place of Euler's halves. Their ratio is :math:`-1/z`.

    Parameters
    ----------
    ratio : float array (r,)
        Ratios to t, 0.35 .. 1.4.
    n_terms, averaged : int
        Terms that count in full, >= 1, and further ones whose partial sums are averaged, >= 1.
    damping : float
        Errors are exp(-damping) times later values of the function, > 0.

    Examples
    --------
    >>> factors = euler_factors(np.array([1.2]), 24, 20, 22.0)
    >>> values = 1 / ((11 + 1j * np.pi * np.arange(45)) / 2.0 + 1.0)  # of exp(-t), around t = 2
    >>> round(float((factors @ values).real[0]) / 2.0, 8), round(float(np.exp(-2.4)), 8)
    (0.09071795, 0.09071795)
    """
    powers = np.exp(1j * np.pi * ratio[:, None] * np.arange(n_terms + averaged + 1))  # of z
    rest = -powers[:, 1] / (1.0 - powers[:, 1])
    binomial = _signed_binomials(averaged) * powers[:, : averaged + 1].conj() * rest[:, None] ** averaged
    powers[:, n_terms:] *= np.cumsum(binomial[:, ::-1], axis=1)[:, ::-1]
    powers[:, 0] /= 2.0
    return np.asarray(powers * np.exp(damping / 2 * ratio)[:, None])


@lru_cache(maxsize=4)
def _signed_binomials(n: int) -> Floats:
    return np.asarray(binom(n, np.arange(n + 1)) * (-1.0) ** np.arange(n + 1))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Window:
    """A smooth function at all times from ``LOW`` to ``HIGH`` times ``t``, nearly as good as at ``t``.

    Parameters
    ----------
    t : float
        The time of the values, > 0.
    values : complex array
        Those of the transform at (damping / 2 + i pi k) / t, k = 0, 1, ...
    n_terms, averaged, damping
        As for `euler_factors`.

    Examples
    --------
    >>> values = 1 / ((11 + 1j * np.pi * np.arange(45)) / 2.0 + 1.0)  # of exp(-t)
    >>> window = Window(t=2.0, values=values, n_terms=24, averaged=20, damping=22.0)
    >>> round(float(window.at(2.4)), 8), window.gap(2.4) < 1e-10
    (0.09071795, True)
    """

    LOW: ClassVar[float] = 0.5
    HIGH: ClassVar[float] = 1.35

    t: float
    values: Complexes  # of the transform
    n_terms: int
    averaged: int
    damping: float

    def at(self, times: ArrayLike) -> Floats:
        """The function, broadcasting over times."""
        given = np.asarray(times, dtype=float)
        return self._summed(given.ravel(), self.n_terms).reshape(given.shape)

    def gap(self, time: float) -> float:
        """What a quarter fewer terms change at a time: the error to a factor of ten or so."""
        at = np.array([time])
        return float(np.abs(self._summed(at, self.n_terms) - self._summed(at, 3 * self.n_terms // 4))[0])

    def _summed(self, times: Floats, n_terms: int) -> Floats:
        factors = euler_factors(times / self.t, n_terms, self.averaged, self.damping)
        return np.asarray((factors @ self.values[: factors.shape[1]]).real / self.t, dtype=float)


def _nodes(t: float, start: int, stop: int, damping: float) -> Complexes:
    return np.asarray((damping / 2 + 1j * np.pi * np.arange(start, stop)) / t, dtype=np.complex128)


def window_around(transform: Transform, t: float, *, tol: float, worst: float, max_terms: int = 48) -> Window:
    """The window of `invert_laplace`, with as many terms as it takes at ``t`` itself.

    Parameters
    ----------
    transform, t, tol, worst, max_terms
        As for `invert_laplace`.

    Raises
    ------
    ConfigError
        If ``t`` is not above zero.
    ConvergenceError
        If the estimate of the error stays above ``worst``.

    Examples
    --------
    >>> window = window_around(lambda s: 1 / (s + 1), 2.0, tol=1e-9, worst=1e-6)
    >>> window.at([1.6, 2.0, 2.4]).round(8), np.exp([-1.6, -2.0, -2.4]).round(8)
    (array([0.20189652, 0.13533528, 0.09071795]), array([0.20189652, 0.13533528, 0.09071795]))
    """
    checks.positive(t=t)
    n_terms, last_gap = FIRST_TERMS, np.inf
    values = transform(_nodes(t, 0, n_terms + AVERAGED + 1, DAMPING))
    while True:
        window = Window(t=t, values=values, n_terms=n_terms, averaged=AVERAGED, damping=DAMPING)
        gap = window.gap(t)
        enough = gap <= max(tol, min(tol * (n_terms / 48) ** 3, 0.1 * worst)) or 1e-8 > gap > 0.7 * last_gap
        if enough or n_terms >= max_terms:
            break
        more = transform(_nodes(t, values.size, 2 * n_terms + AVERAGED + 1, DAMPING))
        values, n_terms, last_gap = np.append(values, more), 2 * n_terms, gap
    if not gap <= worst:
        raise ConvergenceError(
            f"transform inversion at t={t:g}: error about {gap:.1g} with {n_terms} terms; "
            "ask away from a jump"
        )
    return window


def window_of_few(transform: Transform, t: float, *, is_rough: bool = False) -> Window:
    """A window of a smooth function from 25 values of its transform: error about 1e-6 of its size.

    Parameters
    ----------
    transform, t
        As for `invert_laplace`.
    is_rough : bool
        16 values, and an error of 1e-4 or so.

    Raises
    ------
    ConfigError
        If ``t`` is not above zero.

    Examples
    --------
    >>> round(float(window_of_few(lambda s: 1 / (s + 1), 2.0).at(2.0)), 6)  # exp(-2)
    0.135335
    """
    checks.positive(t=t)
    n_terms, averaged, damping = _ROUGH if is_rough else _FEW
    values = transform(_nodes(t, 0, n_terms + averaged + 1, damping))
    return Window(t=t, values=values, n_terms=n_terms, averaged=averaged, damping=damping)
