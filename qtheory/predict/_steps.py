"""Seconds of steps on a table over running requests and prompt cells, and how much a step takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ._cells import between, spread
from ._counted import on_cells
from .inputs import Engine

__all__ = ["Rule", "StepTable"]

Floats = NDArray[np.float64]

_PARTS = 6
_PER_PROMPT, _MOST_ENDS, _MANY_ENDS = 24, 6, 30.0


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
    """Seconds of a step with up to ``n_cells`` cells of prompt, for any number of running requests.

    A step is hardly longer for a few tokens of prompt, and much longer for many. A whole number of cells
    stands for all tokens that are counted as so many, and takes as long as those do in the mean.
    """

    engine: Engine
    rule: Rule
    cell: float
    n_cells: int
    per_step: float = 0.0  # prompts that come in the mean

    @cached_property
    def _nodes(self) -> Floats:
        top = max(self.engine.slots, 9.0)
        return np.unique(np.concatenate([np.arange(9.0), np.linspace(8.0, top, 22)]))

    @cached_property
    def _decode(self) -> Floats:
        return np.array([self.engine.decode_s(n) for n in self._nodes])

    @cached_property
    def _prompt(self) -> Floats:
        """(nodes, parts of cells); one row where decodes stand still."""
        rows = self._nodes if self.rule.mixed else self._nodes[:1]
        tokens: Floats = self.cell / _PARTS * np.arange(_PARTS * (self.n_cells + 1.0) + 1)
        if not self._is_wide:
            found = self.engine.steps_s(tokens[None, :], rows[:, None] if self.rule.mixed else 0.0)
            found[:, 0] = 0.0
            return found
        return np.array([[self._steps_s(t, n) if t else 0.0 for t in tokens] for n in rows])

    @cached_property
    def _is_wide(self) -> bool:
        """Whether a cell may be more than one step."""
        return self.rule.mixed and self.cell > self.rule.room_tokens(self.engine, 1.0)

    @cached_property
    def _whole(self) -> Floats:
        """(nodes, cells + 1) of whole cells, as the tokens come that are counted as so many."""
        base = self._decode[:, None] if self.rule.mixed else np.zeros((1, 1))
        more = self._prompt - base
        more[:, 0] = 0.0
        law = self._arriving(_PARTS, _PARTS * (self.n_cells + 1) + 1)
        return np.asarray(base + on_cells(more, law, self._arriving(1, self.n_cells), _PARTS))

    def _arriving(self, parts: int, n: int) -> Floats:
        """Law (n,) of the tokens that come in a step, on parts of cells."""
        tokens, demand = self.engine.weighted_tokens, self.engine.demand
        length = 2 * max(n, int(tokens.max() / self.cell * parts) + 2)
        one = np.fft.rfft(spread(tokens / (self.cell / parts), demand.prompt_probs, length))
        mates = max((demand.burstiness - 1) / 2, 0.0)
        batch = one / (1 + mates - mates * one)
        law = np.fft.irfft(np.exp(self.per_step / (1 + mates) * (batch - 1)), length)[:n]
        return np.asarray(law.clip(0.0))

    def held_up_s(self, n: Floats, tokens: Floats) -> Floats:
        """Seconds that prompts add to steps of ``n`` while all places are taken."""
        return np.asarray(np.interp(n, self._nodes, self._each_token) * tokens)

    @cached_property
    def _each_token(self) -> Floats:
        """Seconds (nodes,) that a token adds where a prompt begins for each request that ends."""
        engine, rows = self.engine, self._nodes if self.rule.mixed else np.zeros(1)
        ends = engine.slots / max(engine.demand.mean_decode, 1.0)
        tokens, law = self._joining(ends)
        rooms = np.array([self.rule.room_tokens(engine, float(x)) for x in rows])[:, None]
        base = self._decode[:, None] if self.rule.mixed else 0.0
        before = np.ceil(tokens / rooms) - 1  # steps whose budget is spent
        last = engine.steps_s(tokens - before * rooms, rows[:, None]) - base
        more = before * (engine.steps_s(rooms, rows[:, None]) - base) + last
        return np.asarray(np.broadcast_to(more @ law / float(tokens @ law), self._nodes.shape))

    def _joining(self, ends: float) -> tuple[Floats, Floats]:
        """Tokens of a step in which so many prompts begin in the mean, and their law; of many the mean."""
        engine = self.engine
        if ends > _MANY_ENDS:
            return np.array([ends * engine.demand.mean_prompt]), np.ones(1)
        part = engine.demand.mean_prompt / _PER_PROMPT
        n = int(engine.weighted_tokens.max() / part + _PER_PROMPT * _MOST_ENDS * (1 + ends)) + 2
        one = np.fft.rfft(spread(engine.weighted_tokens / part, engine.demand.prompt_probs, 2 * n))
        law = np.fft.irfft(np.exp(ends * (one - 1)), 2 * n)[1:n].clip(0.0)
        return part * np.arange(1.0, n), law

    def _steps_s(self, tokens: float, n: float) -> float:
        """A step, or several where the budget does not hold the tokens."""
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
        cells = cells * _PARTS
        low = np.clip(cells.astype(np.intp), 1, _PARTS * (self.n_cells + 1) - 1)
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
        if self._is_wide:
            some = self.prompt_s(n, np.maximum(cells, 1).astype(float))
        elif not self.rule.mixed:
            some = self._whole[0, cells]
        else:
            i, f = between(self._nodes, n)
            some = (1 - f) * self._whole[i, cells] + f * self._whole[i + 1, cells]
        some = np.where(cells > 0, some, self.decode_s(n))
        if not self.rule.mixed:
            return np.asarray(some)
        return np.asarray(np.where(cells == full_cells, self.full_s(n, full_cells * self.cell), some))
