"""The step in which a prompt ends, and who goes in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .demand import Demand

__all__ = ["LastStep"]

Floats = NDArray[np.float64]

_BINS = 64
_MIDDLES = (np.arange(_BINS) + 0.5) / _BINS


@dataclass(frozen=True, kw_only=True, eq=False)
class LastStep:
    """What a prompt finds of the budget in its last step, with a law (n,) of the cells ahead of it, in order
    of arrival."""

    demand: Demand
    budget_tokens: float  # of prompts, in a step
    ahead: Floats
    cell: float

    @cached_property
    def own_tokens(self) -> float:
        """Mean tokens of the own prompt in it, with nobody ahead."""
        return float(self.demand.prompt_probs @ self._spent[0])

    @cached_property
    def beside(self) -> Floats:
        """Mean cells (n,) ahead that go in it as well, whatever the order."""
        some = np.maximum(self._spent - self.demand.prompt_tokens, 0.0) @ self.demand.prompt_probs
        return np.asarray(np.minimum(some / self.cell, np.arange(len(self.ahead))))

    @cached_property
    def apart(self) -> float:
        """Share of the tokens ahead that go in steps before it."""
        cells = float(self.ahead @ np.arange(len(self.ahead)))
        return 1 - float(self.ahead @ self.beside) / cells if cells > 0 else 1.0

    def beyond(self, moved: Floats, clump: float) -> Floats:
        r"""Of mean tokens (g,) that come one clump of ``clump`` tokens after the other, those for which it
        has no room: of a geometric number of exponential prompts :math:`\mu E[e^{-u/m}]` are left beyond the
        rest :math:`u` of the budget, :math:`m` in the mean if there are any."""
        law = np.bincount(
            self._places.ravel(), (self.ahead[:, None] * self.demand.prompt_probs).ravel(), _BINS
        )
        scale = (moved + clump) / self.budget_tokens
        return np.asarray(moved * (np.exp(-(1 - _MIDDLES) / scale[:, None]) @ (law / law.sum())))

    @cached_property
    def _spent(self) -> Floats:
        """Tokens (n, k) of the budget that are spent when the prompt ends, by the cells ahead."""
        ends = np.arange(len(self.ahead))[:, None] * self.cell + self.demand.prompt_tokens
        return np.asarray(self.budget_tokens - -ends % self.budget_tokens)

    @property
    def _places(self) -> NDArray[np.intp]:
        return np.minimum(self._spent / self.budget_tokens * _BINS, _BINS - 1).astype(np.intp)
