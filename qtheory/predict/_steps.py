"""Seconds of steps on a table over running requests and prompt cells, and how much a step takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ._cells import between
from .inputs import Engine

__all__ = ["Rule", "StepTable"]

Floats = NDArray[np.float64]

_PARTS = 6


@dataclass(frozen=True, kw_only=True)
class Rule:
    """How a scheduler fills its steps.

    Parameters
    ----------
    mixed : bool
        True: decodes run beside prompts, which share what the budget leaves; False: prompts run alone, and
        before decodes.
    """

    mixed: bool

    def room_tokens(self, engine: Engine, n_decodes: float) -> float:
        """Prompt tokens that a step takes at most."""
        if self.mixed:
            return max(engine.budget_tokens - n_decodes, 1.0)
        demand = engine.demand  # a prompt that does not fit leaves room unused
        unused = demand.prompt_moment(2) / (2 * demand.mean_prompt)
        return max(engine.budget_tokens - unused, float(demand.prompt_tokens.max()))


@dataclass(frozen=True, eq=False)
class StepTable:
    """Seconds of a step with up to ``n_cells`` cells of prompt, for any number of running requests."""

    engine: Engine
    rule: Rule
    cell: float
    n_cells: int

    @cached_property
    def _nodes(self) -> Floats:
        top = max(self.engine.slots, 9.0)
        return np.unique(np.concatenate([np.arange(9.0), np.linspace(8.0, top, 22)]))

    @cached_property
    def _decode(self) -> Floats:
        return np.array([self.engine.decode_s(n) for n in self._nodes])

    @cached_property
    def _parts(self) -> int:
        """Parts of a cell that the table tells apart: several where a cell is more than one step."""
        wide = self.rule.mixed and self.cell > self.rule.room_tokens(self.engine, 1.0)
        return _PARTS if wide else 1

    @cached_property
    def _prompt(self) -> Floats:
        """(nodes, parts of cells); one row where decodes stand still."""
        rows = self._nodes if self.rule.mixed else self._nodes[:1]
        tokens = self.cell / self._parts * np.arange(self._parts * (self.n_cells + 1) + 1)
        return np.array([[self._steps_s(t, n) if t else 0.0 for t in tokens] for n in rows])

    def _steps_s(self, tokens: float, n: float) -> float:
        """A step, or several where the budget does not hold the tokens."""
        if self._parts == 1:
            return self.engine.step_s(tokens, n)
        room = self.rule.room_tokens(self.engine, n)
        whole, rest = divmod(tokens, room)
        last = self.engine.step_s(rest, n) if rest > 0 else 0.0
        return whole * self.engine.step_s(room, n) + last

    @cached_property
    def _full(self) -> Floats:
        """Seconds for each token of a step whose budget is spent."""
        rooms = [self.rule.room_tokens(self.engine, n) for n in self._nodes]
        steps = [
            self.engine.step_s(t, n if self.rule.mixed else 0.0)
            for t, n in zip(rooms, self._nodes, strict=True)
        ]
        return np.asarray(np.array(steps) / np.array(rooms))

    def decode_s(self, n: Floats) -> Floats:
        """Steps without prompts."""
        return np.asarray(np.interp(n, self._nodes, self._decode))

    def prompt_s(self, n: Floats, cells: Floats) -> Floats:
        """Steps with ``cells`` of prompt, more than none; need not be whole."""
        cells = cells * self._parts
        low = np.clip(cells.astype(np.intp), 1, self._parts * (self.n_cells + 1) - 1)
        share = np.clip(cells - low, -1.0, 1.0)
        if len(self._prompt) == 1:
            return np.asarray((1 - share) * self._prompt[0, low] + share * self._prompt[0, low + 1])
        i, f = between(self._nodes, n)
        lower = (1 - f) * self._prompt[i, low] + f * self._prompt[i + 1, low]
        upper = (1 - f) * self._prompt[i, low + 1] + f * self._prompt[i + 1, low + 1]
        return np.asarray((1 - share) * lower + share * upper)

    def full_s(self, n: Floats, tokens: float) -> Floats:
        """Time that ``tokens`` take in steps whose budget is spent: the room changes with the batch."""
        return np.asarray(np.interp(n, self._nodes, self._full) * tokens)

    def seconds(self, n: Floats, cells: NDArray[np.intp], full_cells: int) -> Floats:
        """Any step of ``cells`` <= ``full_cells``, of which the last stands for a full one."""
        some = np.where(cells > 0, self.prompt_s(n, np.maximum(cells, 1).astype(float)), self.decode_s(n))
        if not self.rule.mixed:
            return np.asarray(some)
        return np.asarray(np.where(cells == full_cells, self.full_s(n, full_cells * self.cell), some))
