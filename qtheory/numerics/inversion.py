"""Inversion of Laplace transforms and of generating functions, each with an error estimate."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import binom

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ConvergenceError

__all__ = [
    "AVERAGED",
    "DAMPING",
    "FIRST_TERMS",
    "Transform",
    "invert_laplace",
    "invert_laplace_2d",
    "invert_pgf",
    "pmf_of_pgf",
]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]
Transform = Callable[[Complexes], Complexes]

# exp(-22) = 3e-10 bounds the discretisation, 1e-16 * exp(11) = 6e-12 the rounding
DAMPING = 22.0
AVERAGED = 20
_NOISE = 1e-8
_PATIENCE = 48  # terms beyond which less is asked: beside a kink digits are dear
FIRST_TERMS = 24


@lru_cache(maxsize=64)
def _euler_weights(n_terms: int) -> Floats:
    """Weights of the terms 0..n_terms+AVERAGED: ones, then binomial tails (Euler summation)."""
    below = np.cumsum(binom(AVERAGED, np.arange(AVERAGED + 1))) / 2.0**AVERAGED
    weights = np.ones(n_terms + AVERAGED + 1)
    weights[n_terms + 1 :] = 1.0 - below[:-1]
    weights[0] = 0.5
    weights[1::2] *= -1.0
    weights *= np.exp(DAMPING / 2)
    return weights


def _real_terms(transform: Transform, t: Floats, start: int, stop: int) -> Floats:
    node = np.asarray(DAMPING / 2 + 1j * np.pi * np.arange(start, stop), dtype=np.complex128)  # (k,)
    return np.asarray(transform(node / t[:, None]).real, dtype=np.float64)  # (t, k)


def _euler_sums(terms: Floats, t: Floats, n_terms: int) -> tuple[Floats, Floats]:
    """The Euler sum, and its distance from the sum with fewer terms."""
    fewer = 3 * n_terms // 4
    value = terms @ _euler_weights(n_terms) / t
    other = terms[:, : fewer + AVERAGED + 1] @ _euler_weights(fewer) / t
    return value, np.abs(value - other)


def invert_laplace(
    transform: Transform,
    t: ArrayLike,
    *,
    tol: float = 2e-11,
    worst: float = 1e-6,
    max_terms: int = 12_288,
) -> Floats:
    r"""Numerical inversion of a Laplace transform by the Euler algorithm, with as many terms as needed.

    The Fourier series of :math:`e^{-At/2}f(t)` is summed with Euler's binomial averages [1]_, [2]_. Its
    discretisation error is :math:`\sum_{k\ge1}e^{-22k}f((2k+1)t)`. The number of terms is doubled, one ``t``
    at a time, until two sums agree: smooth points need 45 evaluations of the transform, points beside
    a kink of :math:`f` thousands.

    Parameters
    ----------
    transform : callable (complex array) -> complex array
        :math:`\int_0^\infty e^{-st}f(t)dt` for Re s > 0; broadcasts.
    t : array_like
        Where :math:`f` is wanted, > 0 (with the unit of 1/s).
    tol, worst : float
        Absolute error aimed at (less, the more terms it takes); largest estimate that is accepted after
        ``max_terms``.
    max_terms : int
        Terms at most for one ``t``.

    Raises
    ------
    ConfigError
        If a ``t`` is not above zero.
    ConvergenceError
        If the estimate stays above ``worst`` (a jump of :math:`f` at or beside ``t``).

    References
    ----------
    .. [1] Abate, Whitt (1995), "Numerical inversion of Laplace transforms of probability distributions",
       ORSA J. Computing 7, 36-43.
    .. [2] Abate, Whitt (2006), "A unified framework for numerically inverting Laplace transforms",
       INFORMS J. Computing 18, 408-421.

    Examples
    --------
    >>> float(invert_laplace(lambda s: 1 / (s + 1), 2.0).round(9))  # exp(-2)
    0.135335283
    """
    shape = np.shape(t)
    times = np.atleast_1d(np.asarray(t, dtype=float)).ravel()
    if not np.all((times > 0) & np.isfinite(times)):
        bad = times[~((times > 0) & np.isfinite(times))][0]
        raise ConfigError(f"t: {bad:g} must be > 0 and finite")
    value = np.empty_like(times)
    left = np.arange(times.size)  # points still open
    last_gap = np.full(times.size, np.inf)
    n_terms = FIRST_TERMS
    terms = _real_terms(transform, times, 0, n_terms + AVERAGED + 1)
    while True:
        value[left], gap = _euler_sums(terms, times[left], n_terms)
        at_noise = (gap < _NOISE) & (gap > 0.7 * last_gap)  # more terms do not help: rounding
        enough = max(tol, min(tol * (n_terms / _PATIENCE) ** 3, 0.1 * worst))
        is_open = ~((gap <= enough) | at_noise)
        left, terms, last_gap = left[is_open], terms[is_open], gap[is_open]
        if not left.size or n_terms >= max_terms:
            break
        more = _real_terms(transform, times[left], terms.shape[1], 2 * n_terms + AVERAGED + 1)
        terms = np.hstack([terms, more])
        n_terms *= 2
    if left.size and not np.all(last_gap <= worst):
        raise ConvergenceError(
            f"transform inversion at t={times[left][np.argmax(last_gap)]:g}: error about "
            f"{np.max(last_gap):.1g} with {n_terms} terms; raise max_terms or ask away from a jump"
        )
    return value.reshape(shape)


def invert_laplace_2d(
    transform: Callable[[Complexes, Complexes], Complexes], t: float, x: float, *, worst: float = 1e-4
) -> float:
    r"""Numerical inversion of a transform in two variables, Euler sums one inside the other [1]_.

    Parameters
    ----------
    transform : callable (complex array, complex array) -> complex array
        :math:`\int\int e^{-st-zx}f(t,x)dt\,dx` for Re s > 0, Re z > 0; broadcasts. Values of f of order 1.
    t, x : float
        Where :math:`f` is wanted, > 0.
    worst : float
        Largest difference to the sum with fewer terms that is accepted; smooth functions come out to 1e-6.

    Raises
    ------
    ConfigError
        If ``t`` or ``x`` is not above zero.
    ConvergenceError
        If the sums do not agree.

    References
    ----------
    .. [1] Choudhury, Lucantoni, Whitt (1994), "Multidimensional transform inversion with applications to the
       transient M/G/1 queue", Annals of Applied Probability 4, 719-740.

    Examples
    --------
    >>> value = invert_laplace_2d(lambda s, z: 1 / ((s + 1) * (z + 2)), 1.0, 0.5)
    >>> round(value, 6), round(float(np.exp(-2.0)), 6)
    (0.135335, 0.135335)
    """
    checks.positive(t=t, x=x)
    n_terms = 2 * FIRST_TERMS
    last = n_terms + AVERAGED
    node = np.asarray(DAMPING / 2 + 1j * np.pi * np.arange(-last, last + 1), dtype=np.complex128)
    s, z = node[last:] / t, node / x  # the inner function is complex: both signs
    values = transform(s[:, None], z[None, :])

    def summed(n: int) -> float:
        inner = _euler_weights(n)
        both = np.concatenate([inner[:0:-1], 2 * inner[:1], inner[1:]]) / 2
        used = slice(last - n - AVERAGED, last + n + AVERAGED + 1)
        return float((values[: n + AVERAGED + 1, used] @ both).real @ inner / (t * x))

    value, gap = summed(n_terms), abs(summed(n_terms) - summed(3 * n_terms // 4))
    if not gap <= worst:
        raise ConvergenceError(
            f"transform inversion at t={t:g}, x={x:g}: error about {gap:.1g}; ask elsewhere"
        )
    return value


def invert_pgf(pgf: Transform, n_max: int) -> Floats:
    r"""Coefficients 0..n_max of a probability generating function, by Fourier series on a circle.

    With :math:`N\ge4(n_{max}+1)` points on a radius :math:`r`, :math:`r^N=10^{-13}`, the aliasing error is
    below 1e-13 and the rounding error about 1e-13 [1]_.

    Parameters
    ----------
    pgf : callable (complex array) -> complex array
        :math:`\sum_n p_nz^n` for :math:`|z|<1`; broadcasts.
    n_max : int
        Last coefficient, >= 0.

    Raises
    ------
    ConfigError
        If ``n_max`` is not a whole number >= 0.

    References
    ----------
    .. [1] Abate, Whitt (1992), "Numerical inversion of probability generating functions",
       Oper. Res. Letters 12, 245-251.

    Examples
    --------
    >>> [round(float(p), 9) for p in invert_pgf(lambda z: 0.5 / (1 - 0.5 * z), 3)]
    [0.5, 0.25, 0.125, 0.0625]
    """
    checks.at_least(0, n_max=n_max)
    n_points = 1 << int(np.ceil(np.log2(4 * (n_max + 1))))
    radius = 10.0 ** (-13.0 / n_points)
    circle = radius * np.exp(2j * np.pi * np.arange(n_points // 2 + 1) / n_points)
    found = np.fft.irfft(pgf(circle).conj(), n_points)[: n_max + 1]
    return np.asarray(found / radius ** np.arange(n_max + 1), dtype=float)


def pmf_of_pgf(pgf: Transform) -> Callable[[int], float]:
    """Probabilities of a generating function as a function of n, computed in blocks when asked for.

    Parameters
    ----------
    pgf : callable (complex array) -> complex array
        As for `invert_pgf`.

    Raises
    ------
    ConvergenceError
        From the function, if a probability comes out below zero by more than rounding.

    Examples
    --------
    >>> pmf = pmf_of_pgf(lambda z: 0.5 / (1 - 0.5 * z))
    >>> round(pmf(2), 9), pmf(-1)
    (0.125, 0.0)
    """
    known = np.empty(0)

    def pmf(n: int) -> float:
        nonlocal known
        if n < 0:
            return 0.0
        if n >= known.size:
            known = invert_pgf(pgf, max(63, 2 * n))
        if known[n] < -_NOISE:
            raise ConvergenceError(f"P(N = {n}) came out as {known[n]:.3g}; the generating function is off")
        return max(float(known[n]), 0.0)

    return pmf
