r"""The stretched variable, the root of :math:`\sigma-a(\sigma)=s`, and sums of exponentials near one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError

__all__ = ["Near", "is_plain", "left_of", "near", "stretched"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_NEWTON = 100
_SETTLED, _ROUNDING = 1e-11, 1e-5
_PLAIN = 1e-2  # of sigma times the mean size
_LENGTHS = (6, 9, 12, 16, 20, 26, 32)
_LONGEST = _LENGTHS[-1]
_NOTHING = math.log(1e-14)
_REACHES = [math.exp((_NOTHING + math.lgamma(n + 1.0)) / n) for n in _LENGTHS]  # where n terms are enough


def is_plain(sigma: Complexes, y: Floats, mass: Floats) -> bool:
    """Whether 1 - exp(-sigma y), summed with these masses, may lose what digits it loses as a difference."""
    return float(np.min(sigma.real)) * float(y @ mass) > _PLAIN * float(mass.sum())


def left_of(z: Complexes) -> Complexes:
    """1 - exp(-z), with all its digits next to 0."""
    half, fade = z.imag / 2, np.expm1(-z.real)
    sine, found = np.sin(half), np.empty(z.shape, dtype=np.complex128)
    turn = 2.0 * (1.0 + fade) * sine
    found.real, found.imag = turn * sine - fade, turn * np.cos(half)
    return found


def stretched(
    s: Complexes, start: Complexes, ahead: Callable[[Complexes], tuple[Complexes, Complexes]]
) -> tuple[Complexes, Complexes, Complexes]:
    """The root of sigma - a(sigma) = s by Newton's method, with a and its derivative there."""
    sigma, last = start, np.inf
    for _ in range(_NEWTON):
        value, slope = ahead(sigma)
        step = (sigma - value - s) / (1 - slope)
        size = float(np.max(np.abs(step) / np.abs(sigma)))
        if size <= _SETTLED or (size < _ROUNDING and size > 0.5 * last):  # at a load close to 1: rounding
            return sigma, value, slope
        moved, last = sigma - step, size
        sigma = np.where(moved.real < s.real * (1 - 1e-9), s + value, moved)  # the root has Re sigma >= Re s
    raise ConvergenceError(f"no stretched variable after {_NEWTON} steps; the load is too close to 1")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Near:
    r"""Sums :math:`\sum_iw_i(1-e^{-\sigma y_i})` near one center of sigma a row, by n terms of a series.

    At loads close to 1 it takes all digits of the difference: the rest of one is next to nothing.
    With Re sigma and Re c >= 0, :math:`|y(\sigma-c)|^n/n!` of the sum of the weights is left out at most.
    """

    center: Complexes  # (s,)
    unit_s: float  # the largest y, or so
    n_terms: int

    def series(self, y: Floats, weights: Floats) -> Complexes:
        """Coefficients for weights (m, y): (n, s, m)."""
        n = self.n_terms
        steps = np.ones((y.size, n))
        steps[:, 1:] = (-y / self.unit_s)[:, None] / np.arange(1, n)
        terms = np.cumprod(steps, axis=1)  # (y, n)
        mixed = (weights.T[:, None, :] * terms[:, :, None]).reshape(y.size, n * len(weights))
        with_y, plain = self.center[:, None] * y, is_plain(self.center, y, weights[-1])
        left = None if plain else left_of(with_y)
        gone = -np.exp(-with_y) if left is None else left - 1.0
        found = gone.real @ mixed + 1j * (gone.imag @ mixed)  # two real products: half the work
        if left is None:
            found[:, : len(weights)] += weights.sum(axis=1)
        else:
            found[:, : len(weights)] = left.real @ weights.T + 1j * (left.imag @ weights.T)
        return np.ascontiguousarray(found.reshape(-1, n, len(weights)).transpose(1, 0, 2))

    def at(self, sigma: Complexes, series: Complexes) -> tuple[Complexes, Complexes]:
        """Sums and their derivatives at sigma (s, m), by Horner's rule."""
        u = (sigma - self.center[:, None]) * self.unit_s
        value = np.asarray(series[-1] * u + series[-2], dtype=np.complex128)
        slope = np.empty_like(u)
        slope[:] = series[-1]
        for term in series[-3::-1]:
            slope *= u
            slope += value
            value *= u
            value += term
        return value, slope * self.unit_s

    def value(self, sigma: Complexes, series: Complexes) -> Complexes:
        """The sums alone."""
        u = (sigma - self.center[:, None]) * self.unit_s
        value = np.asarray(series[-1] * u + series[-2], dtype=np.complex128)
        for term in series[-3::-1]:
            value *= u
            value += term
        return value

    def is_enough(self, sigma: Complexes) -> bool:
        """Whether what is left out is less than rounding."""
        return _terms_for(float(np.max(np.abs(sigma - self.center[:, None]))) * self.unit_s) <= self.n_terms

    def longer(self) -> Near | None:
        """With the next number of terms; None if that would be long."""
        return next((replace(self, n_terms=n) for n in _LENGTHS if n > self.n_terms), None)


def near(center: Complexes, unit_s: float, reach: float) -> Near | None:
    """For sigma within ``reach`` / ``unit_s`` of the center; None if the series would be long."""
    n_terms = _terms_for(reach)
    return Near(center=center, unit_s=unit_s, n_terms=n_terms) if n_terms <= _LONGEST else None


def _terms_for(reach: float) -> int:
    """The n, of a few, for which reach^n / n! is nothing; more than the most if there is none."""
    return next((n for n, most in zip(_LENGTHS, _REACHES, strict=True) if reach < most), 99)
