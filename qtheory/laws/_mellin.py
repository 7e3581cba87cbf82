r"""The transform of a lognormal law as sums of powers of its argument, from its Mellin-Barnes integral.

With Z standard normal the transform of :math:`e^{\sigma Z}` is

.. math:: E[\exp(-se^{\sigma Z})] = [c<0]+\frac1{2\pi i}\int_{c-i\infty}^{c+i\infty}
          \Gamma(q)\,e^{q^2\sigma^2/2}\,s^{-q}\,dq, \qquad c>-1,

and the trapezoidal rule makes of it a sum in which s enters by powers of one number: a hundred
multiplications, no exponential. A line c serves those s that have their saddle point near it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import lambertw, loggamma

__all__ = ["mellin_sums"]

Complexes = NDArray[np.complex128]

_DIGITS = 36.5  # exp(-36.5) = 1.4e-16
_ABOVE = 4  # lines to the right of 0
_LEFT = -0.5
_TURN = math.pi / 2  # largest angle of s


@dataclass(frozen=True, slots=True, eq=False)
class _Line:
    """The rule on one line, for the s with ln abs(s) up to ``top``."""

    top: float
    c: float
    step: float
    weights: Complexes  # (k + 1,) of the points c + i step (0..k), half of it at c; those below are conjugate

    def at(self, log_s: Complexes) -> Complexes:
        """The transform for a flat array of logarithms of s."""
        turn = np.asarray(np.exp(-1j * self.step * log_s), dtype=np.complex128)
        sums = np.einsum("k,ks->s", self.weights, _powers(turn, self.weights.size))
        sums += np.einsum("k,ks->s", self.weights.conj(), _powers(turn**-1, self.weights.size))
        return np.asarray(np.exp(-self.c * log_s) * sums + (self.c < 0))


def _powers(x: Complexes, n: int) -> Complexes:
    """x^0 .. x^(n - 1), (n, x)."""
    found = np.ones((n, x.size), dtype=np.complex128)
    done = 1
    while done < n:
        more = min(done, n - done)
        np.multiply(found[:more], found[done - 1] * x, out=found[done : done + more])
        done += more
    return found


@lru_cache(maxsize=64)
def mellin_sums(sigma: float) -> tuple[_Line, ...]:
    """Lines for one sigma, by increasing size of s.

    Examples
    --------
    >>> line = mellin_sums(1.0)[0]
    >>> round(float(line.at(np.zeros(1, dtype=complex))[0].real), 8)  # E[exp(-exp(Z))]
    0.38175646
    """
    half = 2.0 * sigma + 0.5  # from the saddle point to the ends of the range of a line: costs two digits
    low = 1.0
    lines = [_line(_LEFT, 2 * (_DIGITS + low) + sigma**2, sigma, low)]  # the mean bounds the images below
    for _ in range(_ABOVE):
        c, top = _saddle(low + half, sigma) / sigma**2, low + 2 * half
        period = _DIGITS / c
        while _image(c, period, low, sigma) > -_DIGITS or _image(c, -period, top, sigma) > -_DIGITS:
            period *= 1.1
        lines.append(_line(c, period, sigma, top))
        low = top
    return tuple(lines)


def _image(c: float, shift: float, log_s: float, sigma: float) -> float:
    """Logarithm of an image of the transform, relative to the transform."""
    return c * shift + _log_size(log_s + shift, sigma) - _log_size(log_s, sigma)


def _line(c: float, period: float, sigma: float, top: float) -> _Line:
    """The images of the transform that the rule adds lie ``period`` apart in ln s."""
    step = 2 * math.pi / period
    y = step * np.arange(math.ceil((9.0 / sigma + 4.0 * math.sqrt(1.0 + abs(c)) / sigma) / step))
    q = c + 1j * y
    logs = loggamma(q) + q**2 * sigma**2 / 2
    size = logs.real + _TURN * y
    kept = int(np.flatnonzero(size > size.max() - _DIGITS)[-1]) + 1
    weights = np.exp(logs[:kept]) / period
    weights[0] /= 2.0
    return _Line(top, c, step, weights)


def _saddle(log_s: float, sigma: float) -> float:
    return float(lambertw(sigma**2 * math.exp(log_s)).real)


def _log_size(log_s: float, sigma: float) -> float:
    w = _saddle(min(log_s, 600.0), sigma)
    return -w * (w + 2.0) / (2 * sigma**2)
