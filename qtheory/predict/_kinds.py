"""Time to first token of kinds of requests that wait for more or fewer tokens than in order of arrival.

What arrivals find, seconds of the tokens and those that come behind are the same for all kinds, which differ
in the law of the tokens ahead. Those that are overtaken fill the step of the own prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ._backlog import Backlog
from ._clearing import FINE, clearing_s
from ._ends import Ends, ends_at
from ._first_token import FirstToken, Found, ahead_and_own, found_by, own_prompts
from ._gridlaw import GridLaw
from ._normal import FIVE, FIVE_WEIGHTS

__all__ = ["Kind", "Kinds"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_POINTS = 4000
_MOST_STRETCH = 10
_BEYOND = 1e-7
_MOMENT_S, _NOBODY = 1e-9, 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Kind:
    """Requests of one kind, in groups (g,)."""

    weights: Floats  # that add up to 1
    cells: Floats  # (g, n) mean cells ahead of who would have so many of them in order of arrival
    overtaken: float  # share of the tokens ahead in order of arrival that are behind
    mates: float  # mean prompts of the own batch that go before
    noise_tokens: Floats  # variance of the tokens ahead over their mean, beyond that of so many times as many


@dataclass(frozen=True, eq=False)
class _Grid:
    """Points in even ratios, from a first one up; and nothing."""

    first_s: float
    step: float

    @cached_property
    def times_s(self) -> Floats:
        return np.append(0.0, self.first_s * np.exp(self.step * np.arange(_POINTS)))

    def places(self, times_s: Floats) -> tuple[Ints, Floats]:
        """The point below each time, and the share of the way to the next."""
        with np.errstate(divide="ignore"):
            place = np.log(times_s / self.first_s) / self.step
        low = np.clip(place + 1, 0, _POINTS - 1).astype(np.intp)
        points = self.times_s
        return low, np.clip((times_s - points[low]) / (points[low + 1] - points[low]), 0.0, 1.0)

    def mass(self, places: tuple[Ints, Floats], weights: Floats) -> Floats:
        """Weights (rests, n) at the first n of their places, shared so that the mean is kept."""
        low, share = (part[:, : weights.shape[1]] for part in places)
        upper, size = weights * share, _POINTS + 1
        found = np.bincount(low.ravel(), (weights - upper).ravel(), size)
        return np.asarray(found + np.bincount(low.ravel() + 1, upper.ravel(), size))

    def law(self, mass: Floats) -> GridLaw:
        """The law of a mass on the points."""
        total, times = float(mass.sum()), self.times_s
        return GridLaw(
            times_s=times, cdf=np.minimum(np.cumsum(mass) / total, 1.0), mean_s=float(times @ mass) / total
        )


@dataclass(frozen=True, eq=False)
class _Placed:
    """Ends at the k-th number running on a grid: with nobody behind, and with somebody."""

    k: int
    ends: Ends
    lone: tuple[Ints, Floats]
    late: tuple[Ints, Floats]


@dataclass(frozen=True, eq=False)
class Kinds:
    """What arrivals find, and the laws of all kinds of them."""

    backlog: Backlog
    base: FirstToken  # in order of arrival

    @cached_property
    def _step(self) -> tuple[float, float]:
        """Tokens and seconds of a step that spends the budget."""
        mesh, n = self.backlog.mesh, self.backlog.mean_running
        room = mesh.rule.room_tokens(mesh.engine, n)
        return room, mesh.engine.step_s(room, n)

    @cached_property
    def _found(self) -> Found:
        """Where cells stand for several steps, who comes waits for the end of one of them."""
        found, mesh = found_by(self.backlog), self.backlog.mesh
        room, seconds = self._step
        return replace(found, rests_s=found.rests_s % seconds) if mesh.cell > room else found

    @cached_property
    def ahead_tokens(self) -> float:
        """Mean tokens that are ahead when the cells are done that an arrival finds begun, in order of
        arrival."""
        law = self.ahead_law
        return float(law @ np.arange(len(law))) * self.backlog.mesh.cell

    @cached_property
    def ahead_law(self) -> Floats:
        """Law (n,) of the cells of them."""
        return np.asarray(self._found.ahead.sum(axis=(0, 1)))

    @property
    def begun_tokens(self) -> float:
        """Mean tokens of these cells that are not yet done."""
        return self._spent * self.backlog.mesh.full_cells * self.backlog.mesh.cell / 2

    @property
    def rest_tokens(self) -> float:
        """Mean tokens that the step under way still takes, where it spends the budget."""
        return self._spent * min(self._step[0], self.backlog.mesh.full_cells * self.backlog.mesh.cell) / 2

    @cached_property
    def _spent(self) -> float:
        """Share of time in which the budget is spent."""
        mesh = self.backlog.mesh
        return float(self.backlog.in_time[mesh.taken == mesh.full_cells].sum())

    def laws(self, kinds: Sequence[Kind]) -> list[FirstToken]:
        """TTFT of each kind."""
        mesh, found = self.backlog.mesh, self._found
        laws = [replace(found, ahead=self._ahead(kind)) for kind in kinds]
        n = (mesh.n_w + max(each.ahead.shape[2] for each in laws)) * FINE
        done = clearing_s(mesh, found.nodes, mesh.cell / FINE, n)
        some = np.nonzero(found.ahead.sum(axis=(1, 2)) > _NOBODY)[0]
        nodes = [ends_at(mesh, float(found.nodes[k]), found.rests_s, done[:, k]) for k in some.tolist()]
        late = [ends.late_s(ends.behind[1]) for ends in nodes]
        first_s = max(min(float(ends.times_s[:, 1:].min()) for ends in nodes), _MOMENT_S)
        grid = _Grid(
            first_s, np.log(1.001 * max(float(each.max()) for each in late) / first_s) / (_POINTS - 1)
        )
        ends = [_Placed(k, ends, grid.places(ends.times_s), grid.places(each))
                for k, ends, each in zip(some.tolist(), nodes, late, strict=True)]  # fmt: skip
        return [self._law(each, kind, ends, grid) for each, kind in zip(laws, kinds, strict=True)]

    def _law(self, found: Found, kind: Kind, nodes: Sequence[_Placed], grid: _Grid) -> FirstToken:
        mesh = self.backlog.mesh
        n = (mesh.n_w + found.ahead.shape[2]) * FINE
        totals = ahead_and_own(mesh, found, mesh.cell / FINE, n, kind.mates)
        own = own_prompts(mesh, found.rests_s, mesh.cell / FINE, n, kind.mates)
        masses = []
        for node in nodes:
            none, extra = (part[:, :n] for part in node.ends.behind)
            in_order = self._found.ahead[node.k]
            first, total = own * in_order[:, :1], totals[node.k]
            some = np.maximum(total - first, 0.0)
            mass = grid.mass(node.lone, first * none) + grid.mass(node.late, first * (1 - none))
            over = (
                kind.overtaken
                * float(in_order.sum(axis=0) @ np.arange(mesh.n_w))
                / max(float(in_order[:, 1:].sum()), 1e-300)
            )
            if over > 0:
                places = grid.places(node.ends.late_s(FINE * over + (1 - none) * extra, n))
                mass += grid.mass(places, some)
            else:
                mass += grid.mass(node.lone, some * none) + grid.mass(node.late, some * (1 - none))
            masses.append(mass)
        weights = np.array([float(mass.sum()) for mass in masses])
        return replace(
            self.base,
            law=grid.law(np.sum(masses, axis=0)),
            by_running=tuple(grid.law(mass) for mass in masses),
            weights=weights / weights.sum(),
        )

    def _ahead(self, kind: Kind) -> Floats:
        """Laws (nodes, rests, n) of the tokens ahead."""
        found, mesh = self._found.ahead, self.backlog.mesh
        n = found.shape[2]
        most = _MOST_STRETCH * n
        mean, part = kind.cells[:, :, None], (kind.weights[:, None, None] * FIVE_WEIGHTS)
        spread = np.sqrt(np.log1p((kind.noise_tokens / mesh.cell)[:, None, None] / np.maximum(mean, 1e-9)))
        factors = np.exp(spread * FIVE)
        factors /= (factors @ FIVE_WEIGHTS)[:, :, None]
        places = np.minimum(mean * factors, most - 1e-9)
        low = places.astype(np.intp)
        upper, size = part * (places - low), n * (most + 1)
        low += (most + 1) * np.arange(n)[:, None]
        found_at = np.bincount(low.ravel(), (part - upper).ravel(), size)
        found_at += np.bincount(low.ravel() + 1, upper.ravel(), size)
        stretch = found_at.reshape(n, most + 1)
        law = self.ahead_law @ stretch
        end = int(np.searchsorted(np.cumsum(law), (1 - _BEYOND) * law.sum())) + 2
        ahead = found @ stretch[:, :end]
        ahead[:, :, -1] += found.sum(axis=2) - ahead.sum(axis=2)
        return np.asarray(ahead)
