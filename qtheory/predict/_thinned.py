"""Arrivals of which some do not stay: by the prompt, what is ahead of it and what is left of the step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ._cells import between, spread
from ._turns import Turns
from .inputs import Engine

__all__ = ["Thinned"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_N_GROUPS, _HALVED = 24, 3
_FEW = 1e-6  # of those that come
_SMALL = 0.25  # arrivals in the time of which powers are taken


@dataclass(frozen=True, kw_only=True, eq=False)
class Thinned:
    """Prompt tokens that come and stay in what is left of a step, one arrival after the other.

    A request stays if its prompt alone can be done within ``deadline_s``, less what is left of the step and
    the time until its turn, by how many run. The tokens ahead are a Markov chain within the step, with jumps
    at the arrivals that stay; its laws are products over short times, the first of which end the step.
    """

    engine: Engine
    rate_rps: float
    cell: float
    deadline_s: float
    nodes: Floats  # (nodes,) running requests, increasing
    turns: Turns  # at each of them
    alone_s: Floats  # (prompts,) seconds of each prompt alone
    times_s: Floats  # (k,) left of the step, increasing from 0

    @property
    def n(self) -> int:
        """Cells."""
        return int(self.turns.open_s.shape[1])

    @cached_property
    def groups(self) -> list[Ints]:
        """Prompts by the time that they take alone, in groups of about equal probability, and of the longest
        smaller ones; those that never are in time lie in others than those that can be."""
        order = np.argsort(self.alone_s, kind="stable")
        below = np.cumsum(self.engine.demand.prompt_probs[order])
        levels = np.append(
            np.linspace(0.0, 1.0, _N_GROUPS + 1)[1:-1], 1 - 0.5 ** np.arange(1, _HALVED + 1) / _N_GROUPS
        )
        cuts = np.searchsorted(below, levels * below[-1] - 1e-12) + 1
        cuts = np.append(cuts, np.searchsorted(self.alone_s[order], self.deadline_s, side="right"))
        return [part for part in np.split(order, np.unique(cuts)) if len(part)]

    @cached_property
    def probs(self) -> Floats:
        """Probability (g,) of each group."""
        return np.array([self.engine.demand.prompt_probs[part].sum() for part in self.groups])

    @cached_property
    def _laws(self) -> tuple[Floats, Floats]:
        """Cells of a prompt (g, n), and the decode steps that come with it, times the law."""
        demand, cells = self.engine.demand, self.engine.weighted_tokens / self.cell
        weights = demand.prompt_probs, demand.prompt_probs * self.engine.work.given_prompt
        laws, steps = (
            np.array([spread(cells[part], each[part], self.n) for part in self.groups]) for each in weights
        )
        return laws, steps

    @cached_property
    def spans_s(self) -> tuple[Floats, Floats]:
        """Shortest and longest time (g,) of a prompt alone in each group."""
        low, high = (np.array([f(self.alone_s[part]) for part in self.groups]) for f in (np.min, np.max))
        return low, high

    def accepted(self, rest_s: float) -> Floats:
        """Shares (nodes, n, g) that stay with so much left of the step."""
        left_s = self.deadline_s - rest_s - self.turns.open_s
        found = self.stays(left_s)
        some = self.turns.ends > 0
        waiting = left_s[some][:, None] - sum(self.spans_s) / 2
        found[some] = self.turns.at(some).within(waiting, self.probs)
        return found

    def stays(self, left_s: Floats) -> Floats:
        """Shares (..., g) that stay with so much time left when they get their turn."""
        low, high = self.spans_s
        return np.asarray(np.clip((left_s[..., None] - low + 1e-9) / (high - low + 1e-9), 0.0, 1.0))

    @cached_property
    def reached(self) -> int:
        """The last cell behind which somebody stays."""
        return int(np.nonzero(self.accepted(0.0).sum(axis=(0, 2)) > _FEW)[0].max(initial=0))

    def _moves(self, rest_s: float) -> tuple[Floats, Floats]:
        """Where one arrival leads (nodes, n, n), and the decode steps that it brings, times that."""
        stays, place = self.accepted(rest_s), np.arange(self.n)
        laws, steps = self._laws
        shift = place[None, :] - place[:, None]
        moves, brought = (
            np.where(shift >= 0, (stays @ part)[:, place[:, None], np.maximum(shift, 0)], 0.0)
            for part in (laws, steps)
        )
        brought[:, :, -1] += stays @ steps.sum(axis=1) - brought.sum(axis=2)
        share = stays @ self.probs
        moves[:, :, -1] += share - moves.sum(axis=2)
        moves[:, place, place] += 1 - share
        return moves, brought

    def before(self, rest_s: float) -> Floats:
        """Where those of its batch lead (nodes, n, n) that come before a request."""
        more = 1 - 1 / self.engine.demand.mean_batch
        return np.asarray((1 - more) * np.linalg.inv(np.eye(self.n) - more * self._moves(rest_s)[0]))

    def _batch(self, rest_s: float) -> tuple[Floats, Floats]:
        """The same as of one arrival, of a batch."""
        moves, brought = self._moves(rest_s)
        more = 1 - 1 / self.engine.demand.mean_batch
        if more <= 0:
            return moves, brought
        others = np.linalg.inv(np.eye(self.n) - more * moves)
        return (1 - more) * moves @ others, (1 - more) * others @ brought @ others

    @cached_property
    def first(self) -> Floats:
        """Cells (n,) of a prompt that comes to nobody and stays; they add up to the share that does."""
        return np.asarray(self.accepted(0.0)[0, 0] @ self._laws[0])

    @cached_property
    def first_batch(self) -> tuple[Floats, Floats]:
        """Cells (n,) of a batch that comes to nobody, from its first prompt that stays on, and the decode
        steps that come with it, times that."""
        stays, share = self.accepted(0.0)[0, 0], max(float(self.first.sum()), 1e-12)
        others = self.before(0.0)[0]
        more = self.engine.demand.mean_batch - 1
        own = (stays @ self._laws[1]) @ others / share
        later = more * self.first @ others @ self._moves(0.0)[1][0] @ others / share
        return self.first @ others / share, own + later

    @property
    def first_rps(self) -> float:
        """Rate of batches of which somebody stays if nobody is there."""
        more, gone = 1 - 1 / self.engine.demand.mean_batch, 1 - float(self.first.sum())
        none = (1 - more) * gone / (1 - more * gone)
        return max(self.rate_rps / self.engine.demand.mean_batch * (1 - none), 1e-12)

    @cached_property
    def parts(self) -> list[tuple[Floats, Floats]]:
        """Moves (nodes, n, n) in each time between two of ``times_s``, and decode steps, times those."""
        starts_rps = self.rate_rps / self.engine.demand.mean_batch
        found = []
        for low, high in zip(self.times_s[:-1], self.times_s[1:], strict=True):
            moves, brought = self._batch((low + high) / 2)
            mean = starts_rps * (high - low)
            halvings = max(int(np.ceil(np.log2(max(mean / _SMALL, 1e-9)))), 0)
            x, h = (mean / 2**halvings * part for part in (moves - np.eye(self.n), brought))
            x2, xh = x @ x, x @ h + h @ x
            some = np.eye(self.n) + x + x2 / 2 + x2 @ x / 6
            steps = h + xh / 2 + (x @ xh + h @ x2) / 6
            for _ in range(halvings):
                some, steps = some @ some, some @ steps + steps @ some
            found.append((some.clip(0.0), steps.clip(0.0)))
        return found

    @cached_property
    def _laws_in(self) -> tuple[Floats, Floats]:
        """Moves (nodes, k, n, n) in the last seconds of a step, and decode steps, times those."""
        shape = (len(self.nodes), self.n, self.n)
        laws, steps = [np.broadcast_to(np.eye(self.n), shape)], [np.zeros(shape)]
        for some, brought in self.parts:
            steps.append(some @ steps[-1] + brought @ laws[-1])
            laws.append(some @ laws[-1])
        return np.stack(laws, axis=1), np.stack(steps, axis=1)

    def _near(self, seconds: Floats, running: Floats) -> list[tuple[Ints, Ints, Floats]]:
        """Nodes and times around, with their weights."""
        low, share = between(self.times_s, seconds)
        node, to_next = between(self.nodes, running)
        return [
            (node + more, low + later, (to_next if more else 1 - to_next) * (share if later else 1 - share))
            for more in (0, 1)
            for later in (0, 1)
        ]

    def shifted(self, seconds: Floats, start: Ints, running: Floats) -> tuple[Floats, Floats]:
        """Transition rows (m, n) from ``start`` by the tokens that come; decode steps gained on each way."""
        near = self._near(seconds, running)
        rows, steps = (
            np.sum([part[node, time, start] * weight[:, None] for node, time, weight in near], axis=0)
            for part in self._laws_in
        )
        rows = rows / rows.sum(axis=1, keepdims=True)
        return rows, np.divide(steps, rows, out=np.zeros_like(rows), where=rows > 1e-15)

    def steps(self, seconds: Floats, start: Ints, running: Floats) -> Floats:
        """Decode steps (...) that come in steps of so many seconds and stay."""
        whole = self._laws_in[1].sum(axis=3)
        near = self._near(seconds, running)
        parts = [whole[node, time, start] * weight for node, time, weight in near]
        return np.asarray(np.sum(parts, axis=0))
