"""Sums of the gaps between tokens while the number running is held: moments by recursion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ._followers import followed, one_by_one
from ._mesh import Mesh, StepsAt

__all__ = ["KEPT", "Held", "held"]

Floats = NDArray[np.float64]

KEPT = 7
"""Numbers running whose sums are kept."""

_LONGEST = 160  # steps followed one by one; beyond, sums grow evenly


@dataclass(frozen=True, eq=False)
class Held:
    """Sums of gaps while the number running is held."""

    mean: Floats  # (d + 1,)
    var: Floats
    behind_mean: Floats  # of these what comes from the prompts behind at the start
    behind_var: Floats
    more_mean: Floats  # and what one request more behind adds
    more_var: Floats
    by_prompt: float  # of the variance of what is behind, the part of prompts that come one by one
    gap_s: float  # in the long run
    alone_s: float  # a step of decodes only
    longest_s: float
    lone_start: float  # probability that nothing waits at first
    lone_next: float  # and again after a step of decodes only

    def at(self, d: float, own: float, later: float, later_var: float) -> tuple[float, float]:
        """Mean and variance of d gaps if ``own`` times as much as usual is behind, and ``later`` follow, of
        whose number the variance is larger by ``later_var``. The variance by prompts that come one by one
        grows with ``own``, that by the time in which they come with its square."""
        place = min(d, float(_LONGEST))
        steps = np.arange(_LONGEST + 1.0)
        half = _LONGEST // 2
        slope = (self.var[-1] - self.var[half]) / (_LONGEST - half)
        mean, var, more, more_var, each, each_var = (
            float(np.interp(place, steps, column))
            for column in (
                self.mean, self.var, self.behind_mean, self.behind_var, self.more_mean, self.more_var
            )
        )  # fmt: skip
        mean += (d - place) * self.gap_s + (own - 1) * more + later * each
        grown = self.by_prompt * own + (1 - self.by_prompt) * own**2 - 1
        var += (d - place) * slope + grown * more_var + later * each_var + later_var * each**2
        return mean, max(var, 0.0)


def held(mesh: Mesh, running: float, start: Floats) -> Held:
    """Of a chain with so many running, from a law of what waits on."""
    sums = _sums_of(mesh, running)
    starts = np.stack([start, np.eye(mesh.n_w)[0], followed(mesh, start, np.array(1.0))])
    means, squares = sums.means @ starts.T, sums.squares @ starts.T
    mean, empty, longer = means.T
    var, empty_var, longer_var = np.maximum(squares - means**2, 0.0).T
    return Held(
        mean=mean,
        var=var,
        behind_mean=mean - empty,
        behind_var=var - empty_var,
        more_mean=longer - mean,
        more_var=longer_var - var,
        by_prompt=one_by_one(mesh, start),
        gap_s=sums.gap_s,
        alone_s=sums.alone_s,
        longest_s=sums.longest_s,
        lone_start=float(start[0]),
        lone_next=sums.lone_next,
    )


@dataclass(frozen=True, eq=False)
class _Sums:
    """First and second moments (gaps + 1, n_w) of sums of gaps, from each of the cells on."""

    means: Floats
    squares: Floats
    gap_s: float
    alone_s: float
    longest_s: float
    lone_next: float


@lru_cache(maxsize=KEPT)
def _sums_of(mesh: Mesh, running: float) -> _Sums:
    """Kept for those who begin with other laws of what waits."""
    chain = StepsAt.of(mesh, running)
    rows, seconds = _single_steps(mesh, chain, running)
    decodes = chain.decodes
    if decodes.all():
        cycle, weighted, first, second = rows, seconds[:, None] * rows, seconds, seconds**2
    else:
        prompts = rows * ~decodes[:, None]
        until = np.linalg.inv(np.eye(mesh.n_w) - prompts)
        cycle = until @ (rows * decodes[:, None])
        first = until @ seconds
        second = until @ (seconds**2 + 2 * seconds * (prompts @ first))
        weighted = until @ (seconds[:, None] * cycle)
    means, squares = np.zeros((2, _LONGEST + 1, mesh.n_w))
    for k in range(_LONGEST):
        squares[k + 1] = second + 2 * weighted @ means[k] + cycle @ squares[k]
        means[k + 1] = first + cycle @ means[k]
    at_decodes = float(chain.stationary[decodes].sum())
    return _Sums(
        means=means,
        squares=squares,
        gap_s=float(chain.stationary @ seconds) / max(at_decodes, 1e-12),
        alone_s=float(seconds[0]),
        longest_s=float(seconds.max()),
        lone_next=float(rows[0, 0]),
    )


def _single_steps(mesh: Mesh, chain: StepsAt, running: float) -> tuple[Floats, Floats]:
    """Rows and seconds of single steps, where cells stand for shares of a step or for several of them."""
    if not mesh.rule.mixed:
        return chain.rows, chain.seconds
    room = mesh.rule.room_tokens(mesh.engine, min(running, mesh.engine.slots))
    n_steps = np.where(chain.taken == mesh.full_cells, mesh.full_cells * mesh.cell / room, 1.0)
    moved = (1 / np.maximum(n_steps, 1.0))[:, None]  # the last of several steps ends in another cell
    return moved * chain.rows + (1 - moved) * np.eye(mesh.n_w), chain.seconds / n_steps
