r"""Transforms of the response given the size, at many sizes at once, from the smallest up.

With :math:`a_x(\sigma)` for the work that goes before a customer of size x, the stretched variable solves
:math:`\sigma-a_x(\sigma)=s`. The work found and the own work then give, for preemptive shortest job first,
:math:`E[e^{-sT(x)}]=(1-\rho_x)\frac\sigma se^{-\sigma x}`, and the like for the others; without the size
itself, ``e^{-s x}`` is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import Literal, Protocol

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError
from qtheory.laws.law import Law
from qtheory.queues.single._common import all_atoms_of

__all__ = ["Ladder", "Rule", "dense_ladder", "ladder_of", "stretched"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]
Rule = Literal["srpt", "psjf", "sjf", "las"]

_LEVELS = (0.0, 0.02, 0.2, 0.6, 0.9, 0.99, 0.999, 1 - 1e-4, 1 - 1e-6)
_ABOVE = (1 - 1e-8, 1 - 1e-11, 1.0)  # further levels for a larger job that is caught in service
_BELOW_ONE = float(np.nextafter(1.0, 0.0))
_NODES = 8
_WAVES, _DENSE = 2.6, 13  # up to how many t, and in how many panels, where the transform turns with the size
_NEWTON = 100
_SETTLED, _ROUNDING = 1e-11, 1e-5


class Ladder(Protocol):
    """Sizes with their probabilities, and the transforms of the delays: the response beyond the size."""

    @property
    def sizes(self) -> Floats:
        """In increasing order, (m,)."""
        ...

    @property
    def weight(self) -> Floats:
        """Probabilities, (m,); that of a single size asked for is 0 if it has none."""
        ...

    def transforms(self, s: Complexes) -> tuple[Complexes, Floats]:
        """E[exp(-s (T(x) - x))] at every size, (m, k), and the chance of no delay at all, (m,)."""
        ...


def ladder_of(rate_rps: float, law: Law, rule: Rule, top_s: float) -> Ladder:
    """Sizes up to ``top_s``; the last one is ``top_s`` itself, without a probability unless it is an atom."""
    atoms = all_atoms_of(law)
    if atoms is None:
        return _smooth(rate_rps, law, rule, top_s)
    sizes = np.union1d(atoms[0][atoms[0] < top_s], [top_s])
    weight = np.zeros(sizes.size)
    inside = atoms[0] <= top_s
    weight[np.searchsorted(sizes, atoms[0][inside])] = atoms[1][inside]
    return _Atoms(rate_rps=rate_rps, rule=rule, sizes=sizes, weight=weight, atoms=atoms)


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


def _found(rule: Rule, sigma: Complexes, value: Complexes, idle: Floats, caught: Complexes) -> Complexes:
    """Transform of the work found: ``caught`` is what a larger job in service adds."""
    extra = 0.0 if rule in ("psjf", "las") else caught
    return np.asarray((idle * sigma + extra) / (sigma - value))


@lru_cache(maxsize=1)
def _rules() -> tuple[Floats, Floats, Floats]:
    """On [0, 1]: Gauss nodes, weights, and the integrals from 0 to each node and to 1."""
    node, weight = legendre.leggauss(_NODES)
    fit = np.linalg.inv(legendre.legvander(node, _NODES - 1))
    upto = [legendre.legval(node, legendre.legint(e, lbnd=-1)) for e in np.eye(_NODES)]
    rows = np.stack(upto, 1) @ fit / 2
    return (1 + node) / 2, weight / 2, np.vstack([rows, weight / 2])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Panel:
    """Sizes between two levels, the upper end among them as the last."""

    level: Floats  # (n + 1,)
    x: Floats  # (n + 1,)
    weight: Floats  # (n,)
    rows: Floats  # (n + 1, n) integrals from the lower end


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Rungs:
    """What is known at the sizes of a panel."""

    sigma: Complexes  # (s, n + 1) the stretched variable
    value: Complexes  # (s, n + 1) a at it
    turned: Complexes  # (s, n + 1) integral of the size over sigma
    below: Floats  # (n + 1,) E[size; size at most this]
    later: tuple[Floats, Floats]  # larger sizes and their probabilities


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Smooth:
    """A ladder for a law with a density, in Gauss-Legendre panels between quantiles."""

    rate_rps: float
    rule: Rule
    panels: list[_Panel]
    above: tuple[Floats, Floats]  # sizes beyond the top, and their probabilities
    mean_s: float

    @property
    def sizes(self) -> Floats:
        """The nodes of all panels, and the top."""
        return np.concatenate([*(panel.x[:-1] for panel in self.panels), self.panels[-1].x[-1:]])

    @property
    def weight(self) -> Floats:
        """Their probabilities."""
        return np.concatenate([*(panel.weight for panel in self.panels), np.zeros(1)])

    def transforms(self, s: Complexes) -> tuple[Complexes, Floats]:
        """As the protocol says."""
        n, last = s.size, len(self.panels) - 1
        start = np.asarray(s[:, None], dtype=np.complex128)
        y, mass = np.zeros(0), np.zeros(0)  # of the panels below
        lived, work = np.zeros((n, 1), dtype=np.complex128), 0.0  # integrals up to the panel
        rows, alone = [], []
        for i, panel in enumerate(self.panels):
            sigma, value, slope = self._root(s, start, panel, y, mass)
            rate = self.rate_rps * -np.expm1(-sigma * panel.x) / (1 - slope)  # of sigma in the level
            turned = lived + (rate[:, :-1] * panel.x[:-1]) @ panel.rows.T
            below = work + panel.rows @ panel.x[:-1]
            kept = slice(None) if i == last else slice(-1)
            at = _Rungs(sigma=sigma, value=value, turned=turned, below=below, later=self._above(i))
            given, quiet = self._given(s, panel, at)
            rows.append(given.T[kept])
            alone.append(quiet[kept])
            y, mass = np.append(y, panel.x[:-1]), np.append(mass, panel.weight)
            start, lived, work = sigma[:, -1:], turned[:, -1:], float(below[-1])
        return np.concatenate(rows), np.concatenate(alone)

    def _root(
        self, s: Complexes, start: Complexes, panel: _Panel, y: Floats, mass: Floats
    ) -> tuple[Complexes, Complexes, Complexes]:
        """The stretched variable at the sizes of a panel, (s, n + 1), with a and its derivative there."""
        lam, x, own = self.rate_rps, panel.x, panel.x[:-1]

        def ahead(sigma: Complexes) -> tuple[Complexes, Complexes]:
            low = np.exp(-sigma[..., None] * y) * mass
            high = np.exp(-sigma[..., None] * own) * panel.rows
            value = panel.level - low.sum(axis=-1) - high.sum(axis=-1)
            slope = (low * y).sum(axis=-1) + (high * own).sum(axis=-1)
            if self.rule == "las":
                cut = np.exp(-sigma * x)
                value, slope = value + (1 - panel.level) * (1 - cut), slope + (1 - panel.level) * x * cut
            return np.asarray(lam * value), np.asarray(lam * slope)

        return stretched(s[:, None], np.broadcast_to(start, (s.size, x.size)), ahead)

    def _above(self, i: int) -> tuple[Floats, Floats]:
        """Sizes above panel i and their probabilities."""
        later = self.panels[i + 1 :]
        sizes = np.concatenate([*(panel.x[:-1] for panel in later), self.above[0]])
        return sizes, np.concatenate([*(panel.weight for panel in later), self.above[1]])

    def _given(self, s: Complexes, panel: _Panel, at: _Rungs) -> tuple[Complexes, Floats]:
        """Transform of the delay at the sizes of a panel, and the chance of none."""
        lam, x, above = self.rate_rps, panel.x, 1 - panel.level
        sigma, value, turned, below, high = at.sigma, at.value, at.turned, at.below, at.later
        if self.rule == "sjf":
            own = np.exp(-sigma[..., None] * panel.x[:-1]) * (panel.weight - panel.rows)
            rest = np.exp(-sigma[..., None] * high[0]) * high[1]
            caught = lam * (above - own.sum(axis=-1) - rest.sum(axis=-1))
            idle = np.full(x.size, 1 - lam * self.mean_s)
            return _found("sjf", sigma, value, idle, caught), idle
        idle = 1 - lam * below
        if self.rule == "srpt":  # the residence: sigma integrated over the work left, by parts
            caught = np.asarray(lam * above * -np.expm1(-sigma * x))
            idle = idle - lam * above * x
            lived, silence = sigma * x - turned, lam * (panel.level * x - below)
            found = _found("srpt", sigma, value, idle, caught)
            return found * np.exp(s[:, None] * x - lived), idle * np.exp(-silence)
        calm = lam * panel.level * x if self.rule == "psjf" else lam * x
        idle = idle - (lam * above * x if self.rule == "las" else 0.0)
        none = np.zeros_like(sigma)
        return _found(self.rule, sigma, value, idle, none) * np.exp((s[:, None] - sigma) * x), idle * np.exp(
            -calm
        )


def _smooth(rate_rps: float, law: Law, rule: Rule, top_s: float) -> _Smooth:
    """Panels between quantiles, up to a size that ends the last panel."""
    top = float(law.cdf(top_s))
    levels = [level for level in _LEVELS if level < top] or [0.0]
    return _panelled(rate_rps, law, rule, np.array([*levels, top]), top_s)


def dense_ladder(rate_rps: float, law: Law, rule: Rule, t: float) -> Ladder:
    """Sizes beyond t too, dense enough for the waves of the transforms that an inversion at t asks for."""
    end = min(_WAVES * t, law.support[1])
    cuts = np.asarray(law.cdf(np.linspace(0.0, end, _DENSE + 1)[1:]), dtype=float)
    levels = np.union1d(cuts, [level for level in _LEVELS if level < cuts[-1]])
    keep = np.append(True, np.diff(levels) > 1e-12)
    return _panelled(rate_rps, law, rule, levels[keep], float(law.ppf(float(levels[keep][-1]))))


def _panelled(rate_rps: float, law: Law, rule: Rule, levels: Floats, top_s: float) -> _Smooth:
    node, weight, rows = _rules()
    panels = []
    for low, high in pairwise(levels.tolist()):
        q = np.append(low + (high - low) * node, high)
        x = np.asarray(law.ppf(np.minimum(q, _BELOW_ONE)), dtype=float)
        x[-1] = top_s if high == levels[-1] else x[-1]
        panels.append(_Panel(level=q, x=x, weight=(high - low) * weight, rows=(high - low) * rows))
    above = (np.zeros(0), np.zeros(0))
    beyond = [float(levels[-1]), *(x for x in (*_LEVELS[1:], *_ABOVE) if x > levels[-1])]
    if rule == "sjf" and len(beyond) > 1:
        q = np.concatenate([low + (high - low) * node for low, high in pairwise(beyond)])
        above = (
            np.asarray(law.ppf(np.minimum(q, _BELOW_ONE)), dtype=float),
            np.concatenate([w * weight for w in np.diff(beyond)]),
        )
    return _Smooth(rate_rps=rate_rps, rule=rule, panels=panels, above=above, mean_s=law.mean)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Atoms:
    """A ladder for a law that is a list of sizes; the rungs may be other sizes too."""

    rate_rps: float
    rule: Rule
    sizes: Floats  # (m,)
    weight: Floats  # (m,)
    atoms: tuple[Floats, Floats]  # the whole law

    def transforms(self, s: Complexes) -> tuple[Complexes, Floats]:
        """As the protocol says."""
        lam, (y, mass) = self.rate_rps, self.atoms
        sigma = np.asarray(s, dtype=np.complex128)
        lived, quiet, last_x = np.zeros(s.shape, dtype=np.complex128), 0.0, 0.0
        rows, alone = [], []
        for x in self.sizes.tolist():
            strictly, weakly = np.searchsorted(y, x, side="left"), np.searchsorted(y, x, side="right")
            sigma = stretched(s, sigma, partial(self._ahead, n=int(strictly), x=x))[0]
            lived, quiet = lived + (x - last_x) * sigma, quiet + (x - last_x) * lam * mass[:strictly].sum()
            found, idle = self._found(sigma, int(weakly), x)
            own = {"srpt": lived, "sjf": s * x}.get(self.rule, sigma * x)
            calm = {"srpt": quiet, "sjf": 0.0, "las": lam * x}.get(self.rule, lam * mass[:strictly].sum() * x)
            rows.append(found * np.exp(s * x - own))
            alone.append(idle * np.exp(-calm))
            last_x = x
        return np.array(rows), np.array(alone)

    def _ahead(self, sigma: Complexes, n: int, x: float) -> tuple[Complexes, Complexes]:
        """a(sigma) and its derivative, from the first n atoms (and all others cut at x for ``las``)."""
        lam, y, mass = self.rate_rps, self.atoms[0][:n], self.atoms[1][:n]
        decay = np.exp(-sigma[:, None] * y) * mass
        value = np.asarray(lam * (mass.sum() - decay.sum(axis=1)), dtype=np.complex128)
        slope = np.asarray(lam * (decay * y).sum(axis=1), dtype=np.complex128)
        if self.rule == "las":
            above, cut = self.atoms[1][n:].sum(), np.exp(-sigma * x)
            value, slope = value + lam * above * (1 - cut), slope + lam * above * x * cut
        return value, slope

    def _found(self, sigma: Complexes, n: int, x: float) -> tuple[Complexes, Floats]:
        """Transform of the work found from the first n atoms, and the chance that there is none."""
        lam, (y, mass) = self.rate_rps, self.atoms
        value, above = self._ahead(sigma, n, x)[0], mass[n:].sum()
        if self.rule == "sjf":
            idle = 1 - lam * float(mass @ y)
            caught = lam * (above - np.exp(-sigma[:, None] * y[n:]) @ mass[n:].astype(np.complex128))
        else:
            cut = 0.0 if self.rule == "psjf" else lam * above * x
            idle = 1 - lam * float(mass[:n] @ y[:n]) - cut
            caught = lam * above * -np.expm1(-sigma * x)
        return _found(self.rule, sigma, value, np.asarray(idle), caught), np.asarray(idle)
