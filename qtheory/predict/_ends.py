"""Seconds to the end of the own prompt, with those before it and those that fit into its last step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ._clearing import FINE
from ._followers import comers
from ._mesh import Mesh

__all__ = ["Ends", "ends_at"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_MOMENT_S = 1e-9  # after the arrival


@dataclass(frozen=True, eq=False)
class Ends:
    """Seconds (rests, n) to the end of the own prompt, by the fine cells with it and those before it, at a
    number running."""

    mesh: Mesh
    running: float
    times_s: Floats  # if nobody comes behind

    @cached_property
    def _full(self) -> int:
        """Fine cells of a step that spends its budget; a cell may stand for several steps."""
        room = self.mesh.rule.room_tokens(self.mesh.engine, self.running)
        one = math.ceil(room / self.mesh.cell * FINE - 1e-9)
        return min(one, self.mesh.full_cells * FINE) if self.mesh.rule.mixed else self.mesh.full_cells * FINE

    @cached_property
    def _lengths(self) -> Floats:
        """Seconds of a step of so many fine cells."""
        cells = np.arange(self._full + 1) / FINE
        return self.mesh.table.prompt_s(np.full(len(cells), self.running), np.maximum(cells, 1 / FINE))

    @cached_property
    def _last(self) -> Ints:
        """Fine cells (n,) of the last step."""
        cells = np.arange(self.times_s.shape[1])
        return np.where(cells > 0, (cells - 1) % self._full + 1, 0)

    @cached_property
    def own_s(self) -> Floats:
        """Seconds (n,) of the last step."""
        return self._lengths[np.minimum(self._last, self._full)]

    @cached_property
    def before_s(self) -> Floats:
        """Seconds to the start of the last step, after the arrival at least."""
        return np.maximum(self.times_s - self.own_s, _MOMENT_S)

    @cached_property
    def behind(self) -> tuple[Floats, Floats]:
        """Probability that nobody is behind, and else the mean fine cells that fit into the last step."""
        none, extra = comers(self.mesh, self.before_s, self._full - self._last)
        none[-1, : self._full + 1] = 1.0  # the step of who found nobody begins at once
        return none, extra

    def late_s(self, extra: Floats, n: int | None = None) -> Floats:
        """The same if ``extra`` fine cells of others go with the last step, as far as there is room; the
        first ``n`` of them."""
        grown = np.minimum(self._last[None, :n] + extra, self._full)
        low = np.minimum(grown.astype(np.intp), self._full - 1)
        longer = self._lengths[low] + (grown - low) * (self._lengths[low + 1] - self._lengths[low])
        return np.asarray(self.times_s[:, :n] + np.maximum(longer - self.own_s[:n], 0.0))


def ends_at(mesh: Mesh, running: float, rests_s: Floats, cleared: Floats) -> Ends:
    """At a number running, after ``rests_s`` (rests,), if fine cells take ``cleared`` (n,) seconds."""
    return Ends(mesh, min(running, mesh.engine.slots), rests_s[:, None] + cleared[None, :])
