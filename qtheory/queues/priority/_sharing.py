r"""The response under processor sharing, of any law of the size, by two transforms one in the other.

With :math:`\varphi(u)=\lambda(1-S^*(u))` the reciprocal :math:`1/E[e^{-sT(x)}]` is the inverse in x of

.. math:: \frac1u+\frac{s\,(u-\varphi(u))}{(1-\rho)\,u^2\,(u-\varphi(u)-s)}.

Its pole at :math:`\sigma=s+\varphi(\sigma)` gives the part that grows, :math:`C(s)e^{\sigma x}`; the rest is
bounded and smooth in x, is inverted at some sizes and interpolated between them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike, NDArray

from qtheory.laws.law import Law
from qtheory.numerics.twosided import two_sided_rule
from qtheory.numerics.window import Window, window_around
from qtheory.queues.single._common import all_atoms_of

from ._classes import Classes
from ._search import KnownPoints, Near

__all__ = ["SharedSizes", "SharedTime", "SharedTransform"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_LEVELS = (0.02, 0.2, 0.6, 0.9, 0.99, 0.999, 1 - 1e-4, 1 - 1e-6, 1 - 1e-9)
_NODES = 12
_WIDEST, _LEAST_RATIO = 2.7, 0.36  # ratios of the ends of a panel of sizes, and of those of a group
_WAVES, _DENSE, _FEW = 2.6, 28, 16  # sizes up to so many t, panels up to t, nodes of each
_RING, _RADIUS = 12, 0.15
_NOBODY = 30.0  # -ln of the probability of more customers than count
_SLACK = 1e-8  # of a tail where a percentile counts as found
_SPAN = Window.LOW, 1.1  # ratios to a time where its inversion serves: beyond, errors of the transform grow
_FINEST = 1e-12  # least panel of sizes, of mean x share of idle time
_AT_ONCE = 1e-9  # times of an unchanging queue, of the same
_START = 1.3  # of a size, divided by the share of the server that is free: first guess of its percentile


@lru_cache(maxsize=1)
def _nodes_and_fit() -> tuple[Floats, Floats]:
    """On [-1, 1]: Gauss nodes, and the matrix from values there, in rows, to Legendre coefficients."""
    node = legendre.leggauss(_NODES)[0]
    return node, np.asarray(np.linalg.inv(legendre.legvander(node, _NODES - 1)).T, dtype=float)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Group:
    """Sizes that share the values of a transform in the size."""

    u: Complexes  # (k,) where they are taken
    free: Complexes  # (k,) u - phi(u)
    weight: Complexes  # (k, x) of the inversion


def _close_together(x: Floats) -> list[Floats]:
    """Increasing sizes in parts that an inversion can share."""
    ends = [x.size]
    while ends[-1]:
        ends.append(int(np.searchsorted(x, _LEAST_RATIO * x[ends[-1] - 1])))
    return [x[low:high] for high, low in pairwise(ends)][::-1]


@dataclass(frozen=True, kw_only=True, eq=False)
class SharedTransform:
    """E[exp(-s T(x))] at load below 1."""

    rate_rps: float
    law: Law

    @property
    def idle(self) -> float:
        """Probability to find nobody."""
        return 1.0 - self.rate_rps * self.law.mean

    def _phi(self, u: Complexes) -> Complexes:
        return np.asarray(self.rate_rps * (1.0 - self.law.lst(u)), dtype=np.complex128)

    def pole(self, s: Complexes) -> tuple[Complexes, Complexes]:
        """sigma and C, of a flat array of s."""
        sigma = Classes(rate_rps=(self.rate_rps,), service=(self.law,)).stretched(s)
        turn = np.exp(2j * np.pi * np.arange(_RING) / _RING)
        radius = _RADIUS * np.abs(sigma.real)
        ring = self._phi(np.asarray(sigma[:, None] + radius[:, None] * turn))
        slope = (ring / turn).mean(axis=1) / radius  # Cauchy's formula for the derivative
        return sigma, np.asarray(s**2 / (self.idle * sigma**2 * (1.0 - slope)))

    def groups(self, panels: list[Floats]) -> list[Group]:
        """What inversions at these sizes, in increasing order, need of the law; no group is of two panels."""
        parts = [part for x in panels for part in _close_together(x)]
        rules = [two_sided_rule(part / part[-1]) for part in parts]
        u = np.array([node / part[-1] for part, (node, _) in zip(parts, rules, strict=True)])
        half = u.shape[1] // 2
        phi = self._phi(u[:, half:])
        phi = np.concatenate([phi[:, :0:-1].conj(), phi], axis=1)
        return [
            Group(u=node, free=node - at, weight=weight / part[-1])
            for node, at, part, (_, weight) in zip(u, phi, parts, rules, strict=True)
        ]

    def rest(self, s: Complexes, pole: tuple[Complexes, Complexes], groups: list[Group]) -> Complexes:
        """What remains of 1 / E[exp(-s T(x))] without its growing part, (s, x)."""
        sigma, size, one = pole[0][:, None], pole[1][:, None], s[:, None]
        found = []
        for at in groups:
            whole = one * (at.free / (self.idle * at.u**2)) / (at.free - one) + 1.0 / at.u
            found.append((whole - size / (at.u - sigma)) @ at.weight)
        return np.concatenate(found, axis=1)

    def at_sizes(self, s: Complexes, x: Floats) -> Complexes:
        """E[exp(-s T(x))] for each s and size, in increasing order, (s, x)."""
        pole = self.pole(s)
        return self.joined(pole, x, self.rest(s, pole, self.groups([x])))

    @staticmethod
    def joined(pole: tuple[Complexes, Complexes], x: Floats, rest: Complexes) -> Complexes:
        """The transform from the two parts of its reciprocal."""
        sigma, size = pole
        with np.errstate(under="ignore"):
            small = np.exp(-sigma[:, None] * x)
            return np.asarray(small / (size[:, None] + rest * small))


@dataclass(frozen=True, kw_only=True, eq=False)
class SharedSizes:
    """Averages over the size: what an inversion at t needs."""

    rate_rps: float
    law: Law

    @cached_property
    def given(self) -> SharedTransform:
        """The transforms given the size."""
        return SharedTransform(rate_rps=self.rate_rps, law=self.law)

    @cached_property
    def _edges(self) -> Floats:
        """Ends of the panels of sizes between which the rest is interpolated."""
        low, high = self.law.support
        least = max(low, self.given.idle * self.law.mean * _FINEST)
        points = np.maximum(np.asarray(self.law.ppf(np.array(_LEVELS)), dtype=float), least)
        ends = [max(low, 0.0), *points.tolist()]
        if np.isfinite(high):
            ends.append(high)
        edges = [ends[0]]
        for end in ends[1:]:
            while edges[-1] > 0 and end > _WIDEST * edges[-1]:
                edges.append(_WIDEST * edges[-1])
            if end > edges[-1] * (1 + 1e-9):
                edges.append(end)
        return np.array(edges)

    @cached_property
    def _groups(self) -> list[Group]:
        """What the inversions at the nodes of the panels need of the law."""
        share = (1.0 + _nodes_and_fit()[0]) / 2
        return self.given.groups([low + (high - low) * share for low, high in pairwise(self._edges)])

    def _dense(self, t: float) -> tuple[Floats, Floats, float]:
        """Sizes up to some t with their probabilities, and the probability of those beyond."""
        grid = t * np.append(np.arange(1, _DENSE + 1) / _DENSE, np.linspace(1.0, _WAVES, _DENSE // 2)[1:])
        top = float(self._edges[-1])
        cuts = np.asarray(self.law.cdf(np.append(grid[grid < top], min(top, grid[-1]))), dtype=float)
        levels = np.union1d(np.append(0.0, cuts), [level for level in _LEVELS if level < cuts[-1]])
        levels = levels[np.append(True, np.diff(levels) > 1e-13)]
        if len(levels) == 1:  # no size is as small as that
            return grid[:1], np.zeros(1), 1.0
        node, weight = legendre.leggauss(_FEW)
        q = np.concatenate([low + (high - low) * (1 + node) / 2 for low, high in pairwise(levels)])
        mass = np.concatenate([step * weight / 2 for step in np.diff(levels)])
        return np.asarray(self.law.ppf(q), dtype=float), mass, float(1.0 - levels[-1])

    def tail_at_once(self, t: Floats) -> Floats:
        """P(T > t) while nobody comes or goes: those who find n others need n + 1 times their size."""
        rho = 1.0 - self.given.idle
        n = np.arange(1, math.ceil(-_NOBODY / math.log(rho)) + 2 if rho > 0 else 2)
        return np.asarray(self.law.sf(np.asarray(t)[..., None] / n) @ (self.given.idle * rho ** (n - 1.0)))

    def tail_lst(self, t: float) -> tuple[Callable[[Complexes], Complexes], Callable[[float], float]]:
        """Transform of P(T > .) without a known part, fit for an inversion at t, and that part."""
        atoms = all_atoms_of(self.law)
        x, mass, beyond = (*atoms, 0.0) if atoms is not None else self._dense(t)
        alone = self.given.idle * np.exp(-self.rate_rps * x) if atoms is not None else np.zeros(x.size)

        def lst(s: Complexes) -> Complexes:
            flat = np.asarray(s, dtype=np.complex128).ravel()
            whole = self.given.at_sizes(flat, x) if atoms is not None else self._interpolated(flat, x)
            late = (1.0 - whole) @ mass + beyond
            if atoms is not None:
                late -= (1.0 - np.exp(-flat[:, None] * x)) @ (mass * alone)
            return np.asarray((late / flat).reshape(np.shape(s)))

        return lst, lambda at: float((mass * alone) @ (x > at))

    def _interpolated(self, s: Complexes, x: Floats) -> Complexes:
        pole = self.given.pole(s)
        which = np.clip(np.searchsorted(self._edges, x, side="right") - 1, 0, len(self._edges) - 2)
        needed = _NODES * (int(which[-1]) + 1)
        upto = np.cumsum([at.weight.shape[1] for at in self._groups])
        coarse = self.given.rest(s, pole, self._groups[: int(np.searchsorted(upto, needed)) + 1])
        series = coarse.reshape(s.size, -1, _NODES) @ _nodes_and_fit()[1]  # (s, panel, degree)
        rest = np.empty((s.size, x.size), dtype=np.complex128)
        for i in np.unique(which).tolist():
            inside = which == i
            low, high = self._edges[i], self._edges[i + 1]
            place = 2.0 * (x[inside] - low) / (high - low) - 1.0
            rest[:, inside] = series[:, i] @ legendre.legvander(place, _NODES - 1).T
        return SharedTransform.joined(pole, x, rest)


@dataclass(frozen=True, kw_only=True, eq=False)
class SharedTime:
    """Law of the response over all customers: tails to about 1e-8, beside atoms of the size to 1e-4.

    At times far below the mean to 1e-5: there a response is nearly a multiple of its size.

    Tails that have been computed are kept, and later percentiles start from them.
    """

    sizes: SharedSizes
    mean_s: float
    find_var_s2: Callable[[], float]
    _known: KnownPoints = field(default_factory=KnownPoints, init=False, repr=False, compare=False)

    @property
    def var_s2(self) -> float:
        """Variance, seconds squared."""
        return self.find_var_s2()

    def sf(self, t: ArrayLike) -> Floats:
        """P(T > t), broadcasting over t in seconds."""
        times = np.asarray(t, dtype=float)
        found = [float(self._near(x).tail(np.array(x))) for x in times.ravel().tolist()]
        return np.array(found).reshape(times.shape)

    def ppf(self, q: ArrayLike) -> Floats:
        """Smallest t >= 0 with P(T <= t) >= q, broadcasting over q in (0, 1)."""
        levels, law = np.asarray(q, dtype=float), self.sizes.law
        found = [
            self._known.quantile(
                self._near,
                x,
                low=max(law.support[0], 0.0),
                scale=_START * float(law.ppf(x)) / self.sizes.given.idle,
                slack=_SLACK,
            )
            for x in levels.ravel().tolist()
        ]
        return np.array(found).reshape(levels.shape)

    def _near(self, t: float) -> Near:
        """The tail at t, and around it if no atom makes it turn."""
        law = self.sizes.law
        if t <= 0 or t < law.support[0] or float(law.cdf(t)) <= 0:
            return Near(t=t, tail=np.ones_like)
        is_atomic = all_atoms_of(law) is not None
        if t < self.sizes.given.idle * law.mean * _AT_ONCE and not is_atomic:
            return Near(t=t, tail=self.sizes.tail_at_once)
        lst, known = self.sizes.tail_lst(t)
        window = window_around(lst, t, tol=_SLACK, worst=1e-2, max_terms=192 if is_atomic else 48)

        def tail(at: Floats) -> Floats:
            return np.clip(window.at(at) + known(t), 0.0, 1.0)

        if is_atomic:
            return Near(t=t, tail=tail)
        return Near(t=t, tail=tail, window=window, span=_SPAN, tol=10 * _SLACK)
