r"""Transforms of the response given the size, at many sizes at once, from the smallest up.

With :math:`a_x(\sigma)` for the work that goes before a customer of size x, the stretched variable solves
:math:`\sigma-a_x(\sigma)=s`. The work found and the own work then give, for preemptive shortest job first,
:math:`E[e^{-sT(x)}]=(1-\rho_x)\frac\sigma se^{-\sigma x}`, and the like for the others; without the size
itself, ``e^{-s x}`` is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qtheory.laws.law import Law
from qtheory.queues.single._common import all_atoms_of

from ._atom_ladder import AtomLadder, Rule, work_found
from ._larger import LargerSizes
from ._pieces import NODES, Pieces, pieces_between
from ._stretch import Near, left_of, near, stretched

__all__ = ["Ladder", "Rule", "dense_ladder", "ladder_of"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_LEVELS = (0.0, 0.02, 0.2, 0.6, 0.9, 0.99, 0.999, 1 - 1e-4, 1 - 1e-6)
_ABOVE = (1 - 1e-8, 1 - 1e-11, 1.0)  # further levels for a larger job that is caught in service
_TOGETHER = 2.4  # how far the stretched variable may move times the size, within a panel
_WAVES, _DENSE = 2.6, 20  # up to how many t, and in how many panels, where the transform turns with the size


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
    return AtomLadder(rate_rps=rate_rps, rule=rule, sizes=sizes, weight=weight, atoms=atoms)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Panel:
    """Sizes between two levels, the upper end among them as the last."""

    level: Floats  # (n + 1,)
    x: Floats  # (n + 1,)
    weight: Floats  # (n,)
    rows: Floats  # (n + 1, n) integrals from the lower end


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Rungs:
    """What is known at the sizes of a ladder, its top included."""

    sigma: Complexes  # (s, m) the stretched variable
    value: Complexes  # (s, m) a at it
    turned: Complexes  # (s, m) integral of the size over sigma
    below: Floats  # (m,) E[size; size at most this]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Smooth:
    """A ladder for a law with a density, in Gauss-Legendre panels between quantiles."""

    rate_rps: float
    rule: Rule
    panels: list[_Panel]
    larger: LargerSizes | None  # for a rule under which one may be caught in service
    mean_s: float  # of the nodes: what is idle follows from it, so that delays end

    @property
    def sizes(self) -> Floats:
        """The nodes of all panels, and the top."""
        return np.concatenate([*(panel.x[:-1] for panel in self.panels), self.panels[-1].x[-1:]])

    @property
    def _levels(self) -> Floats:
        return np.concatenate([*(panel.level[:-1] for panel in self.panels), self.panels[-1].level[-1:]])

    @property
    def weight(self) -> Floats:
        """Their probabilities."""
        return np.concatenate([*(panel.weight for panel in self.panels), np.zeros(1)])

    def transforms(self, s: Complexes) -> tuple[Complexes, Floats]:
        """As the protocol says."""
        n, last = s.size, len(self.panels) - 1
        start, drift = np.asarray(s[:, None], dtype=np.complex128), np.zeros((n, 1), dtype=np.complex128)
        y, mass = np.zeros(0), np.zeros(0)  # of the panels below
        lived, work = np.zeros((n, 1), dtype=np.complex128), 0.0  # integrals up to the panel
        found, belows = [], []
        for i, panel in enumerate(self.panels):
            sigma, value, slope = self._root(s, (start, drift), panel, y, mass)
            rate = self.rate_rps * -np.expm1(-sigma * panel.x) / (1 - slope)  # of sigma in the level
            turned = lived + (rate[:, :-1] * panel.x[:-1]) @ panel.rows.T
            below = work + panel.rows @ panel.x[:-1]
            kept = slice(None) if i == last else slice(-1)
            found.append(np.stack([sigma, value, turned])[:, :, kept])
            belows.append(below[kept])
            y, mass = np.append(y, panel.x[:-1]), np.append(mass, panel.weight)
            start, drift, lived, work = sigma[:, -1:], rate[:, -1:], turned[:, -1:], float(below[-1])
        sigma, value, turned = np.concatenate(found, axis=2)
        below = np.concatenate(belows)
        given, alone = self._given(s, _Rungs(sigma=sigma, value=value, turned=turned, below=below))
        return np.asarray(given.T), alone

    def _root(
        self, s: Complexes, begin: tuple[Complexes, Complexes], panel: _Panel, y: Floats, mass: Floats
    ) -> tuple[Complexes, Complexes, Complexes]:
        """The stretched variable at the sizes of a panel, (s, n + 1), with a and its derivative there.

        ``begin`` has it at the end of the panel below, and how fast it moved with the level there.
        """
        lam, x, own = self.rate_rps, panel.x, panel.x[:-1]
        start, drift = begin
        wide = start + drift * (panel.level - float(mass.sum()))
        at = near(start[:, 0], float(x[-1]), 2 * lam * float(panel.weight.sum() * x[-1]))
        while at is not None:
            found = stretched(s[:, None], wide, self._ahead_near(at, panel, y, mass))
            if at.is_enough(found[0]):
                return found
            at = at.longer()

        def ahead(sigma: Complexes) -> tuple[Complexes, Complexes]:
            low, high = left_of(sigma[..., None] * y), left_of(sigma[..., None] * own)
            value = low @ mass + (high * panel.rows).sum(axis=-1)
            slope = (1.0 - low) @ (mass * y) + ((1.0 - high) * panel.rows * own).sum(axis=-1)
            if self.rule == "las":
                cut = left_of(sigma * x)
                value, slope = value + (1 - panel.level) * cut, slope + (1 - panel.level) * x * (1 - cut)
            return np.asarray(lam * value), np.asarray(lam * slope)

        return stretched(s[:, None], wide, ahead)

    def _ahead_near(
        self, at: Near, panel: _Panel, y: Floats, mass: Floats
    ) -> Callable[[Complexes], tuple[Complexes, Complexes]]:
        """The same by Taylor sums about the stretched variable of the panel below."""
        lam, x = self.rate_rps, panel.x
        series = at.series(x[:-1], panel.rows) + at.series(y, mass[None, :])

        def ahead(sigma: Complexes) -> tuple[Complexes, Complexes]:
            value, slope = at.at(sigma, series)
            if self.rule == "las":
                cut = left_of(sigma * x)
                value, slope = value + (1 - panel.level) * cut, slope + (1 - panel.level) * x * (1 - cut)
            return np.asarray(lam * value), np.asarray(lam * slope)

        return ahead

    def _given(self, s: Complexes, at: _Rungs) -> tuple[Complexes, Floats]:
        """Transform of the delay at all sizes, and the chance of none."""
        lam, x, level = self.rate_rps, self.sizes, self._levels
        sigma, value, turned, below, above = at.sigma, at.value, at.turned, at.below, 1 - level
        if self.larger is not None:
            caught = lam * self._larger_sums(self.larger, sigma)
            idle = np.full(x.size, 1 - lam * self.mean_s)
            return work_found("sjf", sigma, value, idle, caught), idle
        idle = 1 - lam * below
        if self.rule == "srpt":  # the residence: sigma integrated over the work left, by parts
            caught = np.asarray(lam * above * left_of(sigma * x))
            idle = idle - lam * above * x
            lived, silence = sigma * x - turned, lam * (level * x - below)
            found = work_found("srpt", sigma, value, idle, caught)
            return found * np.exp(s[:, None] * x - lived), idle * np.exp(-silence)
        calm = lam * level * x if self.rule == "psjf" else lam * x
        idle = idle - (lam * above * x if self.rule == "las" else 0.0)
        none = np.zeros_like(sigma)
        return work_found(self.rule, sigma, value, idle, none) * np.exp(
            (s[:, None] - sigma) * x
        ), idle * np.exp(-calm)

    @staticmethod
    def _larger_sums(larger: LargerSizes, sigma: Complexes) -> Complexes:
        pieces = sigma.shape[1] // NODES
        found = larger.sums(sigma[:, np.arange(pieces)[:, None] * NODES + np.arange(NODES + 1)])
        return np.concatenate([found[:, :, :-1].reshape(len(sigma), -1), found[:, -1, -1:]], axis=1)


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


def _joined(pieces: Pieces, start: int, stop: int, before: float) -> _Panel:
    """Some pieces as one panel, from the level ``before`` on."""
    mass = pieces.mass[start:stop].ravel()
    whole = np.zeros((mass.size + 1, mass.size))
    for i, k in enumerate(range(start, stop)):
        low, high = i * NODES, (i + 1) * NODES
        whole[low:-1, :low] = mass[:low]
        whole[low:high, low:high] = pieces.rows[k, :-1]
    whole[-1] = mass
    x = np.append(pieces.x[start:stop, :-1], pieces.x[stop - 1, -1])
    return _Panel(level=before + whole.sum(axis=1), x=x, weight=mass, rows=whole)


def _panelled(rate_rps: float, law: Law, rule: Rule, levels: Floats, top_s: float) -> _Smooth:
    ends = levels.tolist()
    pieces = pieces_between(law, ends)
    pieces.x[-1, -1] = top_s
    steps = pieces.mass.sum(axis=1)
    panels, start, before = [], 0, 0.0
    for stop in range(1, len(steps) + 1):
        if (
            stop == len(steps)
            or 2 * rate_rps * steps[start : stop + 1].sum() * pieces.x[stop, -1] > _TOGETHER
        ):
            panels.append(_joined(pieces, start, stop, before))
            before, start = before + float(steps[start:stop].sum()), stop
    larger, mean_s = None, float((pieces.mass * pieces.x[:, :-1]).sum())
    if rule == "sjf":
        beyond = [ends[-1], *(level for level in (*_LEVELS[1:], *_ABOVE) if level > ends[-1])]
        above = (np.zeros(0), np.zeros(0))
        if len(beyond) > 1:
            more = pieces_between(law, beyond)
            above = more.x[:, :-1].ravel(), more.mass.ravel()
        mean_s += float(above[0] @ above[1])
        rest = pieces.mass[:, None, :] - pieces.rows
        larger = LargerSizes(x=pieces.x[:, :-1], mass=pieces.mass, larger=rest, above=above)
    return _Smooth(rate_rps=rate_rps, rule=rule, panels=panels, larger=larger, mean_s=mean_s)
