"""Arrivals of which some do not stay: by the prompt, what is ahead of it and what is left of the step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ._cells import between, spread
from .inputs import Engine

__all__ = ["Thinned"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_N_GROUPS = 24
_SMALL = 0.25  # arrivals in the time of which powers are taken


@dataclass(frozen=True, kw_only=True, eq=False)
class Thinned:
    """Prompt tokens that come and stay in what is left of a step, one arrival after the other.

    A request stays if its prompt alone can be done within ``deadline_s``, less what is left of the step and
    the time in which those ahead are done. The tokens ahead are a Markov chain within the step, with jumps at
    the arrivals that stay; its laws are products over short times, the first of which end the step.
    """

    engine: Engine
    rate_rps: float
    cell: float
    deadline_s: float
    cleared_s: (
        Floats  # (ways, n) seconds until the turn of one with so many cells ahead, in each of some ways
    )
    ways_frac: Floats  # (ways, n) how often it is each of them
    alone_s: Floats  # (prompts,) seconds of each prompt alone
    times_s: Floats  # (k,) left of the step, increasing from 0

    @property
    def n(self) -> int:
        """Cells."""
        return int(self.cleared_s.shape[1])

    @cached_property
    def groups(self) -> list[Ints]:
        """Prompts in groups of about equal probability, by the time that they take alone."""
        order = np.argsort(self.alone_s, kind="stable")
        below = np.cumsum(self.engine.demand.prompt_probs[order])
        cuts = np.searchsorted(below, np.linspace(0.0, 1.0, _N_GROUPS + 1)[1:-1] * below[-1] - 1e-12) + 1
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

    def accepted(self, rest_s: Floats) -> Floats:
        """Shares (..., n, g) that stay with so much left of the step."""
        stays = self.stays(self.deadline_s - np.asarray(rest_s)[..., None, None] - self.cleared_s)
        return np.asarray((self.ways_frac[:, :, None] * stays).sum(axis=-3))

    def stays(self, left_s: Floats) -> Floats:
        """Shares (..., g) that stay with so much time left when they get their turn."""
        low, high = (np.array([f(self.alone_s[part]) for part in self.groups]) for f in (np.min, np.max))
        return np.asarray(np.clip((left_s[..., None] - low + 1e-9) / (high - low + 1e-9), 0.0, 1.0))

    @cached_property
    def reached(self) -> int:
        """The last cell behind which somebody stays."""
        return int(np.nonzero(self.accepted(np.zeros(1))[0].sum(axis=1))[0].max(initial=0))

    def _moves(self, rest_s: float) -> tuple[Floats, Floats]:
        """Where one arrival leads (n, n), and the decode steps that it brings, times that."""
        stays = self.accepted(np.array([rest_s]))[0]
        laws, steps = self._laws
        shift = np.arange(self.n)[None, :] - np.arange(self.n)[:, None]
        moves, brought = (
            np.where(shift >= 0, np.take_along_axis(stays @ part, np.maximum(shift, 0), axis=1), 0.0)
            for part in (laws, steps)
        )
        brought[:, -1] += stays @ steps.sum(axis=1) - brought.sum(axis=1)
        share = stays @ self.probs
        moves[:, -1] += share - moves.sum(axis=1)
        moves[np.arange(self.n), np.arange(self.n)] += 1 - share
        return moves, brought

    def before(self, rest_s: float) -> Floats:
        """Where those of its batch lead (n, n) that come before a request."""
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
        return np.asarray(self.accepted(np.zeros(1))[0, 0] @ self._laws[0])

    @cached_property
    def first_batch(self) -> tuple[Floats, Floats]:
        """Cells (n,) of a batch that comes to nobody, from its first prompt that stays on, and the decode
        steps that come with it, times that."""
        stays, share = self.accepted(np.zeros(1))[0, 0], max(float(self.first.sum()), 1e-12)
        others = self.before(0.0)
        more = self.engine.demand.mean_batch - 1
        own = (stays @ self._laws[1]) @ others / share
        later = more * self.first @ others @ self._moves(0.0)[1] @ others / share
        return self.first @ others / share, own + later

    @property
    def first_rps(self) -> float:
        """Rate of batches of which somebody stays if nobody is there."""
        more, gone = 1 - 1 / self.engine.demand.mean_batch, 1 - float(self.first.sum())
        none = (1 - more) * gone / (1 - more * gone)
        return max(self.rate_rps / self.engine.demand.mean_batch * (1 - none), 1e-12)

    @cached_property
    def parts(self) -> list[tuple[Floats, Floats]]:
        """Moves (n, n) in each of the times between two of ``times_s``, and decode steps, times those."""
        starts_rps = self.rate_rps / self.engine.demand.mean_batch
        found = []
        for low, high in zip(self.times_s[:-1], self.times_s[1:], strict=True):
            moves, brought = self._batch((low + high) / 2)
            mean = starts_rps * (high - low)
            halvings = max(int(np.ceil(np.log2(max(mean / _SMALL, 1e-9)))), 0)
            x, h = (mean / 2**halvings * part for part in (moves - np.eye(self.n), brought))
            x2, xh = x @ x, x @ h + h @ x
            some = np.eye(self.n) + x + x2 / 2 + x2 @ x / 6
            steps = h + xh / 2 + (x2 @ h + x @ h @ x + h @ x2) / 6
            for _ in range(halvings):
                some, steps = some @ some, some @ steps + steps @ some
            found.append((some.clip(0.0), steps.clip(0.0)))
        return found

    @cached_property
    def _laws_in(self) -> tuple[Floats, Floats]:
        """Moves (k, n, n) in the last seconds of a step, and decode steps, times those."""
        laws, steps = [np.eye(self.n)], [np.zeros((self.n, self.n))]
        for some, brought in self.parts:
            steps.append(some @ steps[-1] + brought @ laws[-1])
            laws.append(some @ laws[-1])
        return np.array(laws), np.array(steps)

    def shifted(self, seconds: Floats, start: Ints) -> tuple[Floats, Floats]:
        """Transition rows (m, n) from ``start`` by the tokens that come; decode steps gained on each way."""
        low, share = between(self.times_s, seconds)
        rows, steps = (
            (1 - share)[:, None] * part[low, start] + share[:, None] * part[low + 1, start]
            for part in self._laws_in
        )
        rows = rows / rows.sum(axis=1, keepdims=True)
        return rows, np.divide(steps, rows, out=np.zeros_like(rows), where=rows > 1e-15)

    def steps(self, seconds: Floats, start: Ints) -> Floats:
        """Decode steps (...) that come in steps of so many seconds and stay."""
        low, share = between(self.times_s, seconds)
        whole = self._laws_in[1].sum(axis=2)
        return np.asarray((1 - share) * whole[low, start] + share * whole[low + 1, start])
