"""The workload under a limit on the response, on a grid: product integration of its Volterra equation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.laws.law import Law

from ._common import atoms_of

__all__ = ["GridSolution", "GridTail", "antiderivatives", "solve_response_limit", "solve_wait_limit"]

Floats = NDArray[np.float64]

_GAUSS, _GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(6)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridSolution:
    """Workload masses, normalised, and what follows for those who are accepted.

    ``wait_cdf`` and ``response_cdf`` are P(time <= x, accepted) at the points ``x``.
    """

    x: Floats  # (n+1,)
    empty: float
    mass: Floats  # (n,)
    block: float
    wait_cdf: Floats  # (n+1,)
    response_cdf: Floats  # (n+1,)

    @property
    def mean_wait_s(self) -> float:
        """Of the accepted."""
        return _mean(self.x, self.wait_cdf / (1 - self.block))


def _mean(x: Floats, cdf: Floats) -> float:
    """Trapezoidal rule on the tail; its first-order end terms cancel in the extrapolation."""
    tail = 1 - cdf
    return float((tail[:-1] + tail[1:]) @ np.diff(x) / 2)


def antiderivatives(law: Law, x: Floats) -> tuple[Floats, Floats]:
    """First and second antiderivative of the distribution function at equidistant points from 0."""
    if (atoms := atoms_of(law)) is not None:
        values, probs = atoms
        late = np.maximum(x[:, None] - values, 0.0)
        return late @ probs, late**2 @ probs / 2
    h = x[1]
    node = x[:-1, None] + h * (0.5 + 0.5 * _GAUSS)  # (n, 6)
    cdf = law.cdf(node)
    once = np.concatenate([[0.0], np.cumsum(cdf @ _GAUSS_WEIGHTS * h / 2)])
    inner = (cdf * (x[1:, None] - node)) @ _GAUSS_WEIGHTS * h / 2  # integral of (end - y) F(y)
    twice = np.concatenate([[0.0], np.cumsum(once[:-1] * h + inner)])
    return once, twice


def solve_response_limit(rate_rps: float, service: Law, limit_s: float, n: int) -> GridSolution:
    r"""Masses of the work in n equal cells of [0, d] when wait plus service above d are turned away.

    :math:`f(x)=\lambda p_0P(x<S\le d)+\lambda\int_0^xf(y)P(x-y<S\le d-y)dy`, integrated over each cell with f
    constant in a cell and the distribution function integrated exactly: second order, jumps of S included.
    """
    lam, d = rate_rps, limit_s
    x = np.linspace(0.0, d, n + 1)
    h = d / n
    once, twice = antiderivatives(service, x)
    at_d = float(service.cdf(d))
    below = np.diff(once)  # (n,) integral of F over a cell
    room = below[::-1]  # (n,) integral of F(d - y) over the cell of y
    own_room = h * once[:0:-1] - np.diff(twice)[::-1]  # (n,) of (cell end - y) F(d - y)
    pair = np.empty(n)  # pair[k]: integral of F(x - y) over two cells k apart
    pair[0] = twice[1]
    pair[1:] = twice[2:] - 2 * twice[1:-1] + twice[:-2]
    source = lam * (h * at_d - below)
    mass = np.empty(n)
    entered = 0.0  # sum of mass x room so far
    for i in range(n):
        earlier = lam * (entered - mass[:i] @ pair[i:0:-1] / h) if i else 0.0
        mass[i] = (source[i] + earlier) / (1 - lam / h * (own_room[i] - pair[0]))
        entered += mass[i] * room[i]
    empty = float(1 / (1 + mass.sum()))
    mass = mass * empty
    block = float(
        empty * service.sf(d) + mass @ np.maximum(1 - room / h, 0.0)
    )  # no difference of large terms
    wait_cdf = empty * at_d + np.concatenate([[0.0], np.cumsum(mass * room / h)])
    response_cdf = empty * service.cdf(x)
    folded = np.convolve(mass, below / h)[:n]  # P(W > 0, W + S <= x) at the cell ends, W at its cell
    response_cdf[1:] += folded
    return GridSolution(
        x=x, empty=empty, mass=mass, block=block, wait_cdf=wait_cdf, response_cdf=response_cdf
    )


def solve_wait_limit(rate_rps: float, service: Law, limit_s: float, n: int) -> tuple[float, Floats, Floats]:
    """P(V = 0 | V <= d), and points and masses of V in (0, d], where only a wait above d is turned away."""
    lam = rate_rps
    x = np.linspace(0.0, limit_s, n + 1)
    h = limit_s / n
    once, twice = antiderivatives(service, x)
    pair = np.full(n, h**2)  # integral of P(S > x - y) over two cells k apart
    pair[0] = h**2 / 2 - twice[1]
    pair[1:] -= twice[2:] - 2 * twice[1:-1] + twice[:-2]
    source = lam * (h - np.diff(once))
    mass = np.empty(n)
    for i in range(n):
        earlier = lam / h * (mass[:i] @ pair[i:0:-1]) if i else 0.0
        mass[i] = (source[i] + earlier) / (1 - lam / h * pair[0])
    total = 1 + mass.sum()
    return 1 / total, x[:-1] + h / 2, mass / total


@dataclass(frozen=True, slots=True, kw_only=True)
class GridTail:
    """A time known by its distribution function at points, linear between them."""

    x: Floats
    cdf: Floats

    @property
    def mean_s(self) -> float:
        """Mean, seconds."""
        return _mean(self.x, self.cdf)

    @property
    def var_s2(self) -> float:
        """Variance, seconds squared."""
        tail = (1 - self.cdf) * self.x
        return float((tail[:-1] + tail[1:]) @ np.diff(self.x)) - self.mean_s**2

    def sf(self, t: ArrayLike) -> Floats:
        """P(T > t)."""
        times = np.asarray(t, dtype=float)
        return np.where(times < 0, 1.0, 1 - np.interp(times, self.x, self.cdf))

    def ppf(self, q: ArrayLike) -> Floats:
        """Smallest t with P(T <= t) >= q."""
        levels = np.asarray(q, dtype=float)
        return np.where(levels <= self.cdf[0], 0.0, np.interp(levels, self.cdf, self.x))
