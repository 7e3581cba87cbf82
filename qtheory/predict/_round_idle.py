"""Those who come to an idle replica: a batch of their own at once, apart from the cells of waits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ._cells import between
from ._gridlaw import GridLaw, law_of_atoms
from ._rounds import Rounds

__all__ = ["IdleLaws"]

Floats = NDArray[np.float64]

_NEVER = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class IdleLaws:
    """Laws of those who end an idle time, for one group of sizes of their batch.

    They wait for their prompts alone, which may take much less than one cell of a batch's seconds.
    """

    rounds: Rounds
    sizes: NDArray[np.intp]  # (s,) of a batch, less one
    probs: Floats  # (s,) of these sizes

    @cached_property
    def _taken(self) -> tuple[NDArray[np.intp], Floats]:
        kept = self.probs > _NEVER * self.probs.sum()
        return self.sizes[kept], self.probs[kept]

    @cached_property
    def first(self) -> GridLaw:
        """The law of the time to the first token."""
        seconds, weights = [], []
        for size, prob in zip(*self._taken, strict=True):
            each, share = self._prompts(int(size))
            seconds.append(each)
            weights.append(prob * share)
        return law_of_atoms(np.concatenate(seconds), np.concatenate(weights))

    def _prompts(self, size: int) -> tuple[Floats, Floats]:
        """Seconds of the step of all prompts, and their probabilities."""
        if size > 0:
            seconds = self.rounds.prompt_s[size]
            return seconds, np.full(len(seconds), 1 / len(seconds))
        return self.rounds.lone_prompts

    @cached_property
    def whole(self) -> GridLaw:
        """The law of the time to the last token."""
        rounds, (sizes, probs) = self.rounds, self._taken
        demand = rounds.engine.demand
        steps, shares = demand.decode_steps, demand.decode_probs
        low, share = between(rounds.places, steps)
        by_size = rounds.by_size(rounds.member_s)[sizes]
        decodes = np.where(steps > 0, (1 - share) * by_size[:, low] + share * by_size[:, low + 1], 0.0)
        prompts = rounds.prompt_s[sizes]
        times = prompts[:, :, None] + decodes[:, None, :]
        mass = (probs / prompts.shape[1])[:, None, None] * shares
        return law_of_atoms(times.ravel(), np.broadcast_to(mass, times.shape).ravel())
