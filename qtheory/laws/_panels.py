"""Transform of any law from its distribution function: piecewise polynomials, integrated exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import eval_legendre, factorial, ive, poch, roots_legendre

from qtheory.basics.errors import ConvergenceError

__all__ = ["Panels", "stops_between"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]
Function = Callable[[Floats], Floats]

_ORDER = 20
_MAX_DEPTH = 60
_MOST_PANELS = 2000
_NODES, _WEIGHTS = roots_legendre(_ORDER)
_N = np.arange(_ORDER)
# row n turns values at the nodes into the coefficient of the Legendre polynomial P_n
_FIT = (_N[:, None] + 0.5) * eval_legendre(_N[:, None], _NODES) * _WEIGHTS
# entry (k, n) is (n + k)! / (2^k k! (n - k)!), zero for k > n
_FINITE = np.where(_N[:, None] > _N, 0.0, poch(_N - _N[:, None] + 1.0, 2.0 * _N[:, None]))
_FINITE /= 2.0 ** _N[:, None] * factorial(_N[:, None])


@dataclass(frozen=True, slots=True, eq=False)
class Panels:
    r"""Growth :math:`G(x) = P(a < X \le x)` on :math:`[a, b]`, a polynomial on each of m panels.

    By parts, with M = G(b),

    .. math:: E[e^{-sX}; a < X \le b] = e^{-sb} M + s \int_a^b e^{-sx} G(x)\,dx
              = e^{-sa} M - s \int_a^b e^{-sx} (M - G(x))\,dx.

    The first keeps the digits of a small answer for large real s, the second does not suffer from a far end.
    A panel of centre c and half width h adds :math:`h e^{-sc} \sum_n g_n \int_{-1}^1 P_n(t) e^{-sht} dt`; the
    last integral is :math:`2 (-1)^n i_n(sh)`, a modified spherical Bessel function [1]_, so the work does not
    grow with :math:`|s|`. Where :math:`|sh|` is small, Gauss-Legendre quadrature takes its place.

    References
    ----------
    .. [1] NIST Digital Library of Mathematical Functions, 10.54.2 and 10.49.
    """

    start: float
    end: float
    mass: float
    centre: Floats  # (m,)
    half: Floats  # (m,)
    values: Floats  # (m, 20) G at the nodes
    coefficients: Floats  # (m, 20) g_n

    @classmethod
    def of(cls, cdf: Function, sf: Function, stops: Floats) -> Panels:
        """Bisect [a, b] until every panel is resolved to 13 digits of its own largest value.

        ``stops`` holds a, b and, in between, where X is likely to be, in increasing order.
        """
        ends = stops[[0, -1]]
        upper = bool(sf(ends)[0] < 0.5)  # from whichever tail is smaller
        base, top = sf(ends) if upper else cdf(ends)
        kept: list[tuple[Floats, Floats, Floats]] = []
        left, right = stops[:-1], stops[1:]
        for depth in range(_MAX_DEPTH + 1):
            centre, half = 0.5 * (left + right), 0.5 * (right - left)
            x = np.column_stack([left, centre[:, None] + half[:, None] * _NODES, right])  # (m, 22)
            values = base - sf(x) if upper else cdf(x) - base
            largest = np.abs(values).max(axis=1)
            largest = np.maximum(largest, 1e-280)  # below, nothing counts
            rounding = 1e-15 * (base + largest) + 4e-16 * centre / half * np.ptp(values, axis=1)  # of G, of x
            done = _misfit(values) <= (1e-13 - 1e-15 * np.log(largest)) * largest + rounding
            values = values[:, 1:-1]  # (m, 20)
            if depth == _MAX_DEPTH:  # narrower than rounding: a jump or the root of a power
                done[:] = True
            kept.append((centre[done], half[done], values[done]))
            left, centre, right = left[~done], centre[~done], right[~done]
            if not len(left):
                break
            if len(left) > _MOST_PANELS:
                raise ConvergenceError(
                    f"the distribution function is too rough between {ends[0]:g} and {ends[1]:g}"
                )
            left, right = np.concatenate([left, centre]), np.concatenate([centre, right])
        centre, half, values = (np.concatenate(parts) for parts in zip(*kept, strict=True))
        return cls(ends[0], ends[1], float(abs(top - base)), centre, half, values, values @ _FIT.T)

    def transform(self, s: Complexes) -> Complexes:
        """E[exp(-s X); a < X <= b] for an array ``s`` of any shape."""
        flat = np.atleast_1d(s).ravel()
        parts = [
            self._block(block) for block in np.array_split(flat, max(1, len(flat) * len(self.half) // 20_000))
        ]
        answer = np.concatenate(parts).reshape(np.shape(s))
        if not np.all(np.isfinite(answer)):
            raise ConvergenceError(f"s: the transform is out of range at |s| = {np.abs(s).max():g}")
        return answer

    def _block(self, s: Complexes) -> Complexes:
        w = s[:, None] * self.half  # (k, m)
        near = np.abs(w) <= 4.0
        row, panel = np.nonzero(near)
        x = self.centre[:, None] + self.half[:, None] * _NODES  # (m, 20)
        forward = s.real * (self.end - self.start) > 40.0  # (k,) the first of the two ways
        less: Floats = np.where(forward, 0.0, self.mass)  # (k,) taken off G
        integral: Complexes = np.zeros(w.shape, dtype=np.complex128)
        growth = self.values[panel] - less[row, None]
        integral[near] = (np.exp(-s[row, None] * x[panel]) * growth) @ _WEIGHTS
        row, panel = np.nonzero(~near)
        z = w[~near][:, None]  # (j, 1)
        bessel = _legendre_integrals(z)  # (j, 20)
        scale: Complexes = np.exp(np.abs(z[:, 0].real) - s[row] * self.centre[panel])
        terms = (bessel * self.coefficients[panel]).sum(axis=1) - bessel[:, 0] * less[row]
        integral[~near] = scale * terms
        edge: Floats = np.where(forward, self.end, self.start)
        values: Complexes = np.exp(-s * edge) * self.mass + s * (integral @ self.half)
        return values


def _legendre_integrals(z: Complexes) -> Complexes:
    """Integral of P_n(t) exp(-z t) over [-1, 1], times exp(-|Re z|), for z of shape (j, 1): (j, 20)."""
    sign = np.where(_N % 2, -1.0, 1.0)
    values = np.empty((len(z), _ORDER), dtype=np.complex128)
    far = np.abs(z[:, 0]) > 1000.0  # the finite sum of the half-integer order keeps its digits there
    values[~far] = np.sqrt(2.0 * np.pi / z[~far]) * ive(_N + 0.5, z[~far]) * sign
    large = z[far]
    powers = large ** -(_N + 1.0)  # (j, 20)
    rising, falling = np.exp(large - np.abs(large.real)), np.exp(-large - np.abs(large.real))
    values[far] = sign * rising * (powers @ (sign[:, None] * _FINITE)) - falling * (powers @ _FINITE)
    return values


def _misfit(values: Floats) -> Floats:
    """How far the polynomial through the inner values (m, 22) is from resolved: last terms, and both ends."""
    coefficients = values[:, 1:-1] @ _FIT.T  # (m, 20)
    tail = np.abs(coefficients[:, -3:]).max(axis=1)
    left = np.abs(coefficients @ np.where(_N % 2, -1.0, 1.0) - values[:, 0])
    right = np.abs(coefficients.sum(axis=1) - values[:, -1])
    return np.asarray(np.maximum(tail, 0.1 * np.maximum(left, right)))


def stops_between(ppf: Function, low: float, high: float) -> Floats:
    """``low``, the percentiles in between, ``high``."""
    inner = ppf(np.array([1e-9, 1e-4, 0.02, 0.2, 0.5, 0.8, 0.98, 1.0 - 1e-4, 1.0 - 1e-8]))
    return np.unique(np.concatenate([[low], inner[(inner > low) & (inner < high)], [high]]))
