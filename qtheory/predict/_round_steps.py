"""Steps of a batch that runs to its end: what they take while ever fewer of its members are left."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qtheory.system.steptime import StepLoad

from ._cells import between
from .inputs import Engine

__all__ = ["RoundSteps"]

Floats = NDArray[np.float64]

_FIRST = 6.0  # steps that are all computed
_N_APART = 80  # places at equal ratios


@dataclass(frozen=True, eq=False)
class RoundSteps:
    """Seconds of decode steps at some places in an output, by how many of a batch decode there.

    What a step takes is bent over that number (experts that several of them ask for are read once), so it is
    taken at the mean of the number and its variance.
    """

    engine: Engine
    sizes: Floats  # (n,) numbers decoding for which steps are computed

    @cached_property
    def places(self) -> Floats:
        """Decode steps (j,) from 0 to the longest output."""
        longest = max(float(self.engine.demand.decode_steps.max()), 1.0)
        early = np.arange(min(longest, _FIRST) + 1)
        return np.unique(np.concatenate([early, np.round(np.geomspace(1.0, longest, _N_APART))]))

    @cached_property
    def left(self) -> Floats:
        """P(d >= j) (j,) of each place."""
        demand = self.engine.demand
        order = np.argsort(demand.decode_steps)
        steps, below = demand.decode_steps[order], np.cumsum(demand.decode_probs[order])
        found = np.searchsorted(steps, self.places - 0.5, side="right") - 1
        return np.asarray(1 - np.where(found >= 0, below[np.maximum(found, 0)], 0.0))

    @cached_property
    def _table(self) -> Floats:
        """Seconds (n, j) of a step of each number at each place."""
        demand, step_time = self.engine.demand, self.engine.step_time
        weight = demand.decode_probs * demand.prompt_given_decode
        table = []
        for place, left in zip(self.places, self.left, strict=True):
            longer = demand.decode_steps >= max(place, 1.0) - 0.5
            prompt = float(weight[longer].sum()) / max(float(demand.decode_probs[longer].sum()), 1e-12)
            context = (prompt if left > 0 else demand.mean_prompt) + max(place, 1.0)
            loads = (StepLoad(n, n * context, n_sampled=n) for n in self.sizes)  # means need not be whole
            table.append([step_time.step_s(load) for load in loads])
        return np.array(table).T

    @cached_property
    def _bends(self) -> Floats:
        """Second differences (n, j) of the same over the number."""
        if len(self.sizes) < 3:
            return np.zeros_like(self._table)
        widths = np.diff(self.sizes)[:, None]
        slopes = np.diff(self._table, axis=0) / widths
        inner = 2 * np.diff(slopes, axis=0) / (widths[1:] + widths[:-1])
        return np.concatenate([inner[:1], inner, inner[-1:]])

    def mean_s(self, others: Floats, left: Floats) -> Floats:
        """Mean seconds (..., j) of a step of one and of those of ``others`` that are left, each by chance."""
        n = 1 + others * left
        if len(self.sizes) == 1:
            return np.broadcast_to(self._table[0], n.shape)
        low, share = between(self.sizes, n)
        j = np.arange(len(self.places))
        line, bend = (
            (1 - share) * each[low, j] + share * each[low + 1, j] for each in (self._table, self._bends)
        )
        drawn = (n - self.sizes[low]) * (self.sizes[low + 1] - n)  # a line is a mean over its two ends
        return np.asarray(line + bend / 2 * (others * left * (1 - left) - drawn))

    def up_to(self, seconds: Floats) -> Floats:
        """Time (..., j) of the decodes up to each place.

        A sum over whole steps: the area under the line between them, and half of its first and last one.
        """
        areas = (seconds[..., 2:] + seconds[..., 1:-1]) / 2 * np.diff(self.places[1:])  # there is no step 0
        start = np.zeros((*seconds.shape[:-1], 1))
        ends = (seconds[..., 1:2] + seconds[..., 1:]) / 2
        return np.concatenate([start, np.cumsum(np.append(start, areas, axis=-1), axis=-1) + ends], axis=-1)
