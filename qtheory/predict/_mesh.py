"""Cells of waiting prompt tokens and levels of decode work, with the rule of the steps on them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ._cells import Inflow
from ._release import releases_per_step
from ._steps import Rule, StepTable
from ._thinned import Thinned
from .inputs import Engine
from .limits import redone_frac

__all__ = ["MOST_LEVELS", "Mesh", "StepsAt"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

MOST_LEVELS = 110
"""Levels at most."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Mesh:
    """Cells of w and levels of y, with the rule of the steps on them."""

    engine: Engine
    rule: Rule
    rate_rps: float
    n_mean: float
    cell: float
    n_w: int
    full_cells: int
    level: float
    n_y: int
    n_up: int
    waiting: Floats  # (n_w,) what waits of y, in the mean
    thinned: Thinned | None = None  # where some do not stay
    drawn_out: float = 1.0  # seconds between tokens, to those of a step of decodes alone
    leaner: Floats | None = None  # (n_w,) share of those that run where some states have less work than waits

    @cached_property
    def table(self) -> StepTable:
        per_step = self.rate_rps * self.drawn_out * self.engine.decode_s(self.n_mean)
        return StepTable(self.engine, self.rule, self.cell, self.full_cells, per_step)

    @cached_property
    def remaining(self) -> float:
        """Decode steps that count as one running request."""
        return self.engine.work.unit_steps

    @cached_property
    def joining(self) -> float:
        """What a request that joins adds to the number running, counted by decode work."""
        return min(max(self.engine.demand.mean_decode / self.remaining, 0.2), max(self.engine.slots, 1.0))

    @cached_property
    def x(self) -> Floats:
        """Running requests (n_w, n_y) where slots are no limit."""
        found = np.maximum(self._rest, 0.0)
        return found if self.leaner is None else np.asarray(found * self.leaner[:, None])

    @cached_property
    def _rest(self) -> Floats:
        """Decode work (n_w, n_y) less what waits in the mean; below zero where less than that waits."""
        return np.asarray(self.level * np.arange(self.n_y)[None, :] - self.waiting[:, None])

    def met_by(self, level: float, top: float) -> float:
        """The width next to ``level`` with which one of those up to ``top`` lies where all places are taken.

        If the last one before lay little short of it, work that is hardly below full would count for full.
        """
        slots = self.engine.slots
        if level <= 1 or top < slots:
            return level
        return slots / max(min(round(slots / level), math.floor(slots)), 1)

    def leaner_by(self, law: Floats) -> tuple[Floats, float]:
        """What makes the mean number running at each w, by a law (n_w, n_y) of states, that of the work that
        does not wait; and the share of all that run which this changes."""
        some = np.maximum(self._rest, 0.0)
        there, meant = (law * some).sum(axis=1), (law * self._rest).sum(axis=1)
        ratio = np.clip(np.divide(meant, there, out=np.ones_like(there), where=there > 1e-12), 0.0, 1.0)
        used = np.ones_like(ratio) if self.leaner is None else self.leaner
        area = (law * some * self.seconds).sum(axis=1)
        return ratio, float(np.abs(ratio - used) @ area / max(float(area.sum()), 1e-12))

    @cached_property
    def running(self) -> Floats:
        return np.minimum(self.x, self.engine.slots)

    @cached_property
    def taken(self) -> Ints:
        """Cells (n_w, n_y) that a step takes: what waits, within budget and free slots."""
        waiting = np.minimum(np.arange(self.n_w), self.full_cells)[:, None]
        return np.minimum(waiting, self.admitted(self.x))

    @property
    def shut(self) -> float:
        """Running requests from which the next one finds no place: it takes one if most of it is free."""
        return self.engine.slots - self.joining / 2

    def admitted(self, x: Floats) -> Ints:
        """Cells for which there are free slots."""
        return np.asarray(np.minimum(np.ceil(self._free_cells(x)), 1e6).astype(np.intp))

    def _free_cells(self, x: Floats) -> Floats:
        """Cells of as many mean prompts as there are free slots."""
        free = np.floor(np.maximum(self.engine.slots - x, 0.0) / self.joining + 0.5 + 1e-9)
        return np.asarray(free * self.engine.demand.mean_prompt / self.cell)

    @cached_property
    def seconds(self) -> Floats:
        found = self.table.seconds(self.running, self.taken, self.full_cells)
        waiting = np.minimum(np.arange(self.n_w), self.full_cells)[:, None]
        if self.rule.mixed or not self.engine.is_memory_work:
            held_up = (self.taken > 0) & (self._free_cells(self.x) < waiting)
            tokens = np.asarray(self.taken * (self.cell * (1 + redone_frac(self.engine))), dtype=np.float64)
            more = self.table.held_up_s(self.running, tokens)
            return np.where(held_up, more + self.rule.mixed * self.table.decode_s(self.running), found)
        held_up = (self.taken > 0) & (self.taken < waiting)  # by memory
        clumps, redone = self.clumps
        cells = np.minimum(self.taken * clumps * (1 + redone), self.full_cells)
        return np.where(held_up, self.table.prompt_s(self.running, np.maximum(cells, 1.0)) / clumps, found)

    @cached_property
    def clumps(self) -> tuple[float, float]:
        """Where memory holds prompts up: how many more begin at once than places get free in a step, and what
        is computed again, to what is computed once."""
        engine = self.engine
        redone = redone_frac(engine)
        if self.rule.mixed:
            return 1.0, redone
        ends = engine.slots / max(engine.demand.mean_decode, 1.0)
        return max(min(ends, 1.0) / releases_per_step(engine, engine.slots), 1.0), redone

    @cached_property
    def idle(self) -> Floats:
        """Probability (n_w, n_y) that nobody is there, so that the next step waits for an arrival."""
        empty = np.maximum(1 - self.x, 0.0)
        empty[1:] = 0.0
        return empty

    @cached_property
    def spread(self) -> float:
        r"""Variance of what runs while nobody waits, over its mean, before steps that get longer with it.

        Linear in :math:`n` requests and :math:`k` tokens beyond those of the mean context: steps that get
        longer by a share :math:`F` of what runs, and :math:`f` of it by the tokens, keep both there longer,
        which makes the variance of the tokens :math:`1+2f/(2-F)+f^2/(1-F)(2-F)` times as large, and that of
        the number :math:`1/(1-F)` times, as the chain does by itself.
        """
        extra = self.engine.work.spread - 1
        if extra <= 0:
            return 1.0
        whole, f = self.engine.slower_by(max(self.n_mean, 1.0))
        grown = 1 + 2 * f / (2 - whole) + f**2 / ((1 - whole) * (2 - whole))
        return 1 + extra * (1 - whole) * grown

    @property
    def idle_s(self) -> float:
        """Mean seconds until a batch ends an idle time."""
        if self.thinned is not None:
            return 1 / self.thinned.first_rps
        return self.engine.demand.mean_batch / self.rate_rps

    @cached_property
    def stays_s(self) -> Floats:
        """Mean seconds (n_w, n_y) from the start of a step to the next, idle time included."""
        return np.asarray((1 - self.idle) * self.seconds + self.idle * self.idle_s)

    @cached_property
    def decoded(self) -> Floats:
        """Decode steps done in a step (n_w, n_y)."""
        if not self.rule.mixed:
            return np.where(self.taken > 0, 0.0, self.running)
        room = np.maximum(self.engine.budget_tokens - self.running, 1.0)
        return np.where(
            self.taken == self.full_cells, self.running * self.full_cells * self.cell / room, self.running
        )

    def arrivals(self, seconds: Floats, start: Ints, running: Floats) -> tuple[Floats, Floats]:
        """Transition rows (n_w, n_w) by the tokens that come and stay; decode steps gained on each way.

        ``running``: when the step ends.
        """
        if self.thinned is None:
            return self.inflow.shifted(seconds, start)
        return self.thinned.shifted(seconds, start, running)

    @cached_property
    def then_running(self) -> Floats:
        """Running requests (n_w, n_y) when a step ends, where slots are no limit."""
        begun = self.waiting[:, None] - self.waiting[self.left]
        return np.asarray(np.maximum(self.x + begun - self.decoded / self.remaining, 0.0))

    def first_of_busy(self, row: Floats, gained: Floats, idle: float) -> tuple[Floats, Floats]:
        """The way out of an empty system: by a step, or else by the batch that ends an idle time."""
        if idle <= 0:
            return row, gained
        if self.thinned is not None:
            batch, batch_steps = self.thinned.first_batch
        else:
            batch, batch_steps = self.inflow.batch, self.inflow.batch_steps
        mixed = (1 - idle) * row + idle * batch
        work = (1 - idle) * row * gained + idle * batch_steps
        return mixed, np.divide(work, mixed, out=np.zeros_like(mixed), where=mixed > 1e-15)

    @cached_property
    def inflow(self) -> Inflow:
        """Tokens that arrive in steps."""
        low, high = float(self.seconds.min()), float(self.seconds.max())
        return Inflow.of(
            self.engine.demand,
            self.engine.weighted_tokens,
            self.engine.work.given_prompt,
            rate_rps=self.rate_rps,
            cell=self.cell,
            n=self.n_w,
            times_s=np.geomspace(0.99 * low, 1.01 * high, 48),
        )

    @cached_property
    def come(self) -> Floats:
        """Decode steps (n_w, n_y) that come and stay from the start of a step to the next."""
        demand = self.engine.demand
        if self.thinned is None:
            return np.asarray(self.rate_rps * demand.mean_decode * self.stays_s)
        steps = self.thinned.steps(self.seconds, self.left, self.then_running)
        return np.asarray((1 - self.idle) * steps + self.idle * float(self.thinned.first_batch[1].sum()))

    @cached_property
    def left(self) -> Ints:
        """Cells (n_w, n_y) that a step leaves behind."""
        return np.asarray(np.arange(self.n_w)[:, None] - self.taken)


@dataclass(frozen=True, kw_only=True, eq=False)
class StepsAt:
    """The chain of w alone while the number running is held."""

    taken: Ints
    seconds: Floats
    decodes: NDArray[np.bool_]  # whether the running requests get their token in the step
    rows: Floats  # (n_w, n_w)
    gained: Floats  # (n_w, n_w) decode steps that come on each way

    @classmethod
    def of(cls, mesh: Mesh, running: float) -> StepsAt:
        """At ``running`` requests; where they take all slots, those that end are replaced at once.

        With less than one end a step, only that share of the steps takes a prompt. Where prompts run alone, a
        decode follows each step of prompts, so the chain is of steps of both.
        """
        slots = mesh.engine.slots
        n = np.full(mesh.n_w, min(running, slots))
        freed = max(mesh.joining, min(running, slots) / mesh.remaining)
        is_full = running > slots - freed
        open_ = np.minimum(n, max(slots - freed, 0.0))
        waiting = np.minimum(np.arange(mesh.n_w), mesh.full_cells)
        taken = np.minimum(waiting, mesh.admitted(open_))
        seconds = mesh.table.seconds(n, taken, mesh.full_cells)
        decodes = np.full(mesh.n_w, mesh.rule.mixed or is_full) | (taken == 0)
        if is_full and not mesh.rule.mixed:
            seconds = np.where(taken > 0, seconds + mesh.table.decode_s(n), seconds)
        rows, gained = mesh.arrivals(seconds, np.arange(mesh.n_w) - taken, n)
        often = min(running, slots) / max(mesh.engine.demand.mean_decode, 1e-9)
        if is_full and often < 1:
            alone = mesh.table.decode_s(n)
            stay, more = mesh.arrivals(alone, np.arange(mesh.n_w), n)
            both = often * rows + (1 - often) * stay
            work = often * rows * gained + (1 - often) * stay * more
            gained = np.divide(work, both, out=np.zeros_like(both), where=both > 1e-15)
            rows, seconds = both, often * seconds + (1 - often) * alone
        return cls(taken=taken, seconds=seconds, decodes=decodes, rows=rows, gained=gained)

    @cached_property
    def stationary(self) -> Floats:
        system = np.eye(len(self.rows)) - self.rows
        system[:, 0] = 1.0
        right = np.zeros(len(self.rows))
        right[0] = 1.0
        found = np.linalg.solve(system.T, right).clip(0.0)
        return np.asarray(found / found.sum())
