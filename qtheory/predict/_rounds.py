"""Batches that run to their end: how many requests one holds, how long it lasts, what its members see."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ._cells import between, spread
from ._round_longest import longest_of_full
from ._round_room import Room
from ._round_steps import RoundSteps
from .inputs import Engine

__all__ = ["Rounds"]

Floats = NDArray[np.float64]

_COARSE, _FINE = 7, 500  # amounts of prompt tokens of a batch
_CELLS = 800  # of the tokens of a batch


@dataclass(frozen=True, eq=False)
class Rounds:
    """Batches of whole prompts and all their decodes, of 1 .. ``most`` requests.

    A batch of b computes its prompts in one step; then each step decodes those that are left. The longest
    output has the law F^b; given that it is m, each of the others is left at step j with probability
    P(d >= j | d <= m), see `RoundSteps`.
    """

    engine: Engine

    @cached_property
    def _room(self) -> Room:
        return Room(self.engine)

    @property
    def room(self) -> Floats:
        """P(k requests fit) (most,), k = 1, ..."""
        return self._room.fits

    @property
    def binds(self) -> str:
        """What ends a batch when many wait."""
        return self._room.binds

    @property
    def most(self) -> int:
        """Requests of the largest batch."""
        return len(self.room)

    @cached_property
    def full(self) -> Floats:
        """Law (most,) of the size of a batch when as many wait as may be: 1, 2, ..."""
        return np.asarray(self.room - np.append(self.room[1:], 0.0))

    @cached_property
    def sizes(self) -> Floats:
        """Sizes (k,) for which seconds are computed."""
        top = float(self.most)
        return np.unique(
            np.round(np.concatenate([np.arange(1.0, min(top, 8.0) + 1), np.geomspace(1, top, 22)]))
        )

    @cached_property
    def _steps(self) -> RoundSteps:
        return RoundSteps(self.engine, self.sizes)

    @property
    def places(self) -> Floats:
        """Decode steps (j,) from 0 to the longest output."""
        return self._steps.places

    @property
    def left(self) -> Floats:
        """P(d >= j) (j,) of each place."""
        return self._steps.left

    @cached_property
    def member_steps_s(self) -> Floats:
        """Seconds (k, j) of the steps that a member of a batch of each size sees."""
        return self._steps.mean_s(self.sizes[:, None] - 1, self.left[None, :])

    @cached_property
    def member_s(self) -> Floats:
        """Seconds (k, j) from its first token that a member of each batch needs for so many steps."""
        return self._steps.up_to(self.member_steps_s)

    @cached_property
    def _longest(self) -> tuple[Floats, Floats, Floats]:
        """Intervals of the longest output: mean steps (m,), P(d <= its upper end), and P(d <= its middle)."""
        demand = self.engine.demand
        order = np.argsort(demand.decode_steps)
        steps, probs = demand.decode_steps[order], demand.decode_probs[order]
        below, sums = np.cumsum(probs) / probs.sum(), np.cumsum(probs * steps) / probs.sum()
        levels = np.concatenate([np.linspace(0.02, 0.9, 30), 1 - np.geomspace(0.1, 2e-6, 40), [1.0]])
        place = np.unique(np.minimum(np.searchsorted(below, levels - 1e-12), len(steps) - 1))
        mass, total = np.diff(below[place], prepend=0.0), np.diff(sums[place], prepend=0.0)
        kept = mass > 1e-12
        upper = below[place][kept]
        lower = np.append(0.0, upper[:-1])
        single = np.diff(place[kept], prepend=-1) == 1
        return total[kept] / mass[kept], upper, np.where(single, upper, (lower + upper) / 2)

    @cached_property
    def _decode_s(self) -> Floats:
        """Seconds (k, m) of all decodes of a batch of each size whose longest output has each length."""
        lengths, _, below = self._longest
        shorter = np.clip(1 - (1 - below[:, None]) / np.maximum(self.left[None, :], 1e-12), 0.0, 1.0)
        still = np.where(self.places[None, :] <= lengths[:, None], self.left[None, :] * shorter, 0.0)
        still = np.minimum(still / below[:, None], 1.0)  # (m, j) P(d >= j | d <= m)
        total = self._steps.up_to(self._steps.mean_s(self.sizes[:, None, None] - 1, still))  # (k, m, j)
        at = np.searchsorted(self.places, lengths)
        at = np.minimum(at, len(self.places) - 1)
        low = np.maximum(at - 1, 0)
        width = np.maximum(self.places[at] - self.places[low], 1e-9)
        share = np.clip((lengths - self.places[low]) / width, 0.0, 1.0)
        m = np.arange(len(lengths))
        return np.asarray((1 - share) * total[:, m, low] + share * total[:, m, at])

    @cached_property
    def _levels(self) -> Floats:
        """Shares at which the seconds of prompts are taken: more of them where nothing else varies."""
        n = _FINE if self.engine.demand.mean_decode == 0 else _COARSE
        return np.asarray((np.arange(n) + 0.5) / n)

    @cached_property
    def prompt_s(self) -> Floats:
        """Seconds (most, k) of the step of all prompts, for equally likely amounts of tokens that fit."""
        demand, tokens = self.engine.demand, self.engine.weighted_tokens
        longest = float(tokens.max())
        top = 1.001 * min(max(float(self.engine.budget_tokens), longest), self.most * longest)
        n = _CELLS
        one = np.fft.rfft(spread(tokens / top * n, demand.prompt_probs, n + 1), 4 * n)
        rows, power = [], np.ones_like(one)
        cells, edges = np.arange(n + 1) * top / n, np.linspace(0.0, 1.0, len(self._levels) + 1)
        for _ in range(self.most):
            power = power * one
            law = np.fft.irfft(power, 4 * n)[: n + 1].clip(0.0)
            below, sums = (np.append(0.0, np.cumsum(column) / law.sum()) for column in (law, law * cells))
            kept = np.append(True, np.diff(below) > 0)
            rows.append(np.diff(np.interp(edges, below[kept], sums[kept])) * (len(edges) - 1))
        return self._prompts_s(np.minimum(np.array(rows), top))

    @property
    def lone_prompts(self) -> tuple[Floats, Floats]:
        """Seconds of the step of one prompt, and their probabilities."""
        return self._prompts_s(self.engine.weighted_tokens), self.engine.demand.prompt_probs

    @cached_property
    def full_prompt_s(self) -> Floats:
        """The same (most, k) of batches that leave somebody behind.

        Where the budget ends them, what they leave of it unused has the density P(s > x) / E[s] of the time
        since the last point of a renewal process.
        """
        if self.binds != "token budget":
            return self.prompt_s
        demand, budget = self.engine.demand, float(self.engine.budget_tokens)
        order = np.argsort(demand.prompt_tokens)
        tokens, above = demand.prompt_tokens[order], 1 - np.cumsum(demand.prompt_probs[order])
        area = np.cumsum(np.diff(tokens, prepend=0.0) * np.append(1.0, above[:-1]))
        unused = np.interp(self._levels * area[-1], np.append(0.0, area), np.append(0.0, tokens))
        unused = unused * (demand.prompt_moment(2) / (2 * demand.mean_prompt) / unused.mean())
        amounts = np.maximum(budget - unused, min(demand.mean_prompt, budget))
        return np.broadcast_to(self._prompts_s(amounts), (self.most, len(self._levels)))

    def _prompts_s(self, amounts: Floats) -> Floats:
        nodes = np.geomspace(max(float(amounts.min()), 1.0), float(amounts.max()) + 1.0, 36)
        return np.asarray(np.interp(amounts, nodes, [self.engine.step_s(t, 0.0) for t in nodes]))

    @cached_property
    def _longest_weights(self) -> Floats:
        """Weights (most, m) of the lengths of the longest output."""
        b = np.arange(1.0, self.most + 1)
        return np.diff(self._longest[1][None, :] ** b[:, None], prepend=0.0, axis=1)

    @cached_property
    def _longest_of_full(self) -> Floats:
        """The same of batches that leave somebody behind."""
        return np.diff(
            longest_of_full(self.engine, self.binds, self.most, self._longest[1]), prepend=0.0, axis=1
        )

    @cached_property
    def _decode_by_size_s(self) -> Floats:
        """Seconds (most, m) of all decodes."""
        return self.by_size(self._decode_s)

    @property
    def decode_laws(self) -> tuple[Floats, Floats]:
        """Seconds (most, m) of all decodes of a batch by its longest output, and their weights."""
        return self._decode_by_size_s, self._longest_weights

    @property
    def full_laws(self) -> tuple[Floats, Floats]:
        """Seconds (n,) of a batch that leaves somebody, with the mean of its prompts, and their weights."""
        seconds = self.full_prompt_s.mean(axis=1)[:, None] + self._decode_by_size_s
        return seconds.ravel(), (self.full[:, None] * self._longest_of_full).ravel()

    @cached_property
    def decodes(self) -> tuple[Floats, Floats, Floats]:
        """Steps (d,), their probabilities, and seconds (most, d) that members of each batch need for them."""
        steps, probs, _ = self.engine.demand.decode_groups
        low, share = between(self.places, steps)
        seconds = (1 - share) * self.member_s[:, low] + share * self.member_s[:, low + 1]
        return steps, probs, self.by_size(seconds)

    def _prompts_and_longest(self, *, full: bool) -> tuple[Floats, Floats]:
        if full:
            return self.full_prompt_s, self._longest_of_full
        return self.prompt_s, self._longest_weights

    def mean_s(self, *, full: bool = False) -> Floats:
        """Mean seconds (most,) of a batch of 1, 2, ... requests."""
        prompts, weights = self._prompts_and_longest(full=full)
        decodes = (self._decode_by_size_s * weights).sum(axis=1)
        return np.asarray(prompts.mean(axis=1) + decodes)

    def var_s(self, *, full: bool = False) -> Floats:
        """Variances (most,) of the same."""
        prompts, weights = self._prompts_and_longest(full=full)
        decodes = self._decode_by_size_s
        mean = (decodes * weights).sum(axis=1, keepdims=True)
        return np.asarray(prompts.var(axis=1) + ((decodes - mean) ** 2 * weights).sum(axis=1))

    @property
    def limit_rps(self) -> float:
        """Throughput of batches that leave somebody behind."""
        return float(self.full @ np.arange(1, self.most + 1)) / float(self.full @ self.mean_s(full=True))

    @property
    def longest_s(self) -> float:
        """No batch takes longer."""
        prompts = max(float(self.prompt_s.max()), float(self.full_prompt_s.max()))
        return prompts + float(self._decode_by_size_s.max())

    def by_size(self, table: Floats) -> Floats:
        """Rows for 1 .. most of a table (k, ...) over the sizes."""
        b = np.arange(1.0, self.most + 1)
        if len(self.sizes) == 1:
            return table
        low, share = between(self.sizes, b)
        return np.asarray((1 - share)[:, None] * table[low] + share[:, None] * table[low + 1])

    def laws(self, cell_s: float, n: int, *, full: bool = False) -> Floats:
        """Laws (most, n) of the seconds of a batch, in cells."""
        prompts, longest = self._prompts_and_longest(full=full)
        share = 1 / prompts.shape[1]
        rows = []
        for size, weights in enumerate(longest):
            times = prompts[size][:, None] + self._decode_by_size_s[size][None, :]
            mass = np.broadcast_to(share * weights, times.shape)
            rows.append(spread(times.ravel() / cell_s, mass.ravel(), n))
        return np.array(rows)
