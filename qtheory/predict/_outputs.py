"""Requests by the length of their outputs, the shortest first: what each kind finds before it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ._backlog import Backlog
from ._behind import Behind
from ._by_length import ByLength, ahead_by_rank, groups_of, place_ratios, prompt_waits
from ._kinds import Kind, Kinds
from ._last_step import LastStep
from ._mesh import StepsAt
from ._numeric import gap_of
from ._place_share import place_share
from .limits import Limit, redone_frac

__all__ = ["Outputs", "Waits", "cuts_of", "outputs_of"]

Floats = NDArray[np.float64]

_CLASSES = (0.0, 0.25, 0.5, 0.75, 0.92, 1.0)
_SAME = 1e-5  # steps by which groups of one length may differ


@dataclass(frozen=True, kw_only=True, eq=False)
class Outputs:
    """Requests with outputs above ``low`` and up to ``high`` steps, and their share of all."""

    low: float
    high: float
    share: float
    kind: Kind


@dataclass(frozen=True, eq=False)
class Waits:
    """What each output length (g,) waits for, at ``more`` times the load of the chain.

    The chain of the order of arrival has waits that prompts make for prompts, and beyond them those that the
    running requests make, which leave fewer places or less of the budget while they are many. Both are shared
    out among the lengths, each in its way.
    """

    found: Kinds
    limit: Limit
    more: float = 1.0

    @cached_property
    def prompts(self) -> ByLength:
        """Of prompts alone."""
        mesh = self.found.backlog.mesh
        return prompt_waits(mesh.engine, _busy(self.found.backlog), mesh.cell, self.more)

    @cached_property
    def last(self) -> LastStep:
        """The step in which a prompt ends."""
        backlog = self.found.backlog
        mesh = backlog.mesh
        return LastStep(
            demand=mesh.engine.demand,
            budget_tokens=mesh.rule.room_tokens(mesh.engine, backlog.mean_running),
            ahead=self.found.ahead_law,
            cell=mesh.cell,
        )

    @cached_property
    def mates(self) -> Floats:
        """Prompts (g,) of the own batch that go before, and what comes while they are done; those of the last
        step do so in any order."""
        apart, in_order = self.last.apart, self.found.backlog.mesh.engine.demand.mean_batch - 1
        return apart * self.prompts.mates + (1 - apart) * in_order

    @property
    def tokens(self) -> Floats:
        """Tokens (g,) that are done before a prompt gets its turn, without those of its own batch."""
        return np.asarray(sum(self._tokens))

    @cached_property
    def overtaken(self) -> Floats:
        """Share (g,) of the tokens ahead in order of arrival that fill the last step: who waits for a place
        does not."""
        beside, tokens, _ = self._tokens
        before = np.maximum(tokens - self.found.rest_tokens, 0.0)
        in_order = max(self._in_order[0] - self.found.rest_tokens, 0.0) - beside
        return np.asarray((in_order - before) / max(self.found.ahead_tokens, 1e-300))

    @cached_property
    def _in_order(self) -> tuple[float, float]:
        """Tokens that are waited for in order of arrival, for the budget and for a place."""
        whole = self.found.ahead_tokens + self.found.begun_tokens
        by_running = min(_by_running(self.found.backlog), whole)
        return whole - by_running, by_running

    @cached_property
    def _tokens(self) -> tuple[float, Floats, Floats]:
        """Those in its last step in any order, and those before it for the budget, and for a place."""
        found, more = self.found, self.more
        mesh = found.backlog.mesh
        engine, waits = mesh.engine, self.prompts
        by_prompts, by_running = self._in_order
        load = mesh.rate_rps / self.limit.rate_rps
        tokens = waits.tokens * (by_prompts / waits.in_order_tokens)
        beside = (1 - self.last.apart) * max(by_prompts - found.rest_tokens, 0.0)
        tokens = self.last.apart * tokens + (1 - self.last.apart) * found.rest_tokens
        if more > 1:  # up to one request for each place that gets free
            always, nearer = engine.demand.mean_prompt / (1 - load), (more - 1) * load / (1 - load)
            by_place = 1.0 if self.limit.binds == "slots" else place_share(engine)
            by_running += by_place * nearer * max(always - by_running, 0.0)
        wait_s = by_running / (mesh.rate_rps * engine.demand.mean_prompt)  # by Little's law
        wait_steps = wait_s / max(gap_of(found.backlog), 1e-12)
        lost = redone_frac(engine)
        by_places = by_running / (1 + lost) * place_ratios(engine.demand, load, wait_steps, more)
        if lost > 0:  # a place that is lost again is no end of the wait, which is for all of the work
            lasting = place_ratios(engine.demand, load, np.inf, more)
            by_places += by_running * lost / (1 + lost) * lasting
        return beside, tokens, by_places

    @property
    def cells(self) -> Floats:
        """Mean cells ahead (g, n) of who would have 0, 1, ... of them in order of arrival, without the step
        under way.

        Who waits for the budget keeps its rank. What is there in order of arrival beyond the prompts of that
        rank waits for places.
        """
        found = self.found
        mesh, law = found.backlog.mesh, found.ahead_law
        in_order = np.arange(len(law), dtype=np.float64)
        ranks = ahead_by_rank(mesh.engine, _busy(found.backlog), mesh.cell, law, self.more)
        first, by_rank = ranks[0], ranks[1:]
        places = np.maximum(in_order - first, 0.0)
        places = places if places @ law > 0 else in_order
        beside, *others = self._tokens
        whole = np.asarray(sum(others))
        less = np.maximum(whole - found.rest_tokens, 0.0) / np.maximum(whole, 1e-300)
        parts = [beside * _of_mean_one(self.last.beside[None, :], law)]
        parts += [
            (less * each)[:, None] * _of_mean_one(by, law)
            for each, by in zip(others, (by_rank, places[None, :]), strict=True)
        ]
        return np.asarray(float(law.sum()) / mesh.cell * sum(parts))

    @property
    def behind(self) -> Floats:
        """Tokens behind, when the first token comes, to those in order of arrival: of outputs that decode."""
        backlog, last = self.found.backlog, self.last
        mesh, n = backlog.mesh, backlog.mean_running
        demand, rest = mesh.engine.demand, self.found.rest_tokens
        ahead = self.tokens - rest + self.mates * demand.mean_prompt
        beside = (1 - last.apart) * (self.found.ahead_tokens + (demand.mean_batch - 1) * demand.mean_prompt)
        behind = Behind(
            last=last,
            rate_rps=mesh.rate_rps,
            step_s=mesh.engine.step_s(last.budget_tokens, n),
            alone_s=mesh.engine.step_s(0.0, n),
        )
        ratios = behind.ratios(rest + np.maximum(ahead - beside, 0.0), beside)
        steps = groups_of(demand)[0]
        return ratios[np.searchsorted(steps + _SAME, demand.decode_groups[0])]


def outputs_of(waits: Waits) -> list[Outputs]:
    """Requests by the length of their outputs."""
    found = waits.found
    engine = found.backlog.mesh.engine
    cells = waits.cells
    steps, weights, _ = groups_of(engine.demand)
    kinds = []
    for first, last in cuts_of(weights):
        some = slice(first, last)
        share = float(weights[some].sum())
        part = weights[some] / share
        kind = Kind(
            weights=part,
            cells=cells[some],
            overtaken=max(float(part @ waits.overtaken[some]), 0.0),
            mates=float(part @ waits.mates[some]),
            noise_tokens=waits.prompts.noise_tokens[some],
        )
        low = -1.0 if first == 0 else float(steps[first - 1]) + _SAME
        kinds.append(Outputs(low=low, high=float(steps[last - 1]) + _SAME, share=share, kind=kind))
    return kinds


def _of_mean_one(cells: Floats, law: Floats) -> Floats:
    """Rows (g, n) over their means by a law (n,)."""
    return np.asarray(cells / np.maximum(cells @ law, 1e-300)[:, None])


def cuts_of(weights: Floats) -> list[tuple[int, int]]:
    """Groups from the first to before the last of each kind."""
    below = np.cumsum(weights)
    levels = np.array(_CLASSES)[1:]
    cuts = np.unique(np.searchsorted(below, levels * below[-1] - 1e-9) + 1).tolist()
    return list(pairwise([0, *cuts]))


def _waiting_running(backlog: Backlog) -> float:
    """Mean decodes that run, over the tokens that wait."""
    mesh = backlog.mesh
    waiting = backlog.in_time * np.arange(mesh.n_w)[:, None]
    return float((waiting * mesh.running).sum()) / max(float(waiting.sum()), 1e-300)


def _busy(backlog: Backlog) -> float:
    """Share of time that prompts take one after another, beside as many decodes as run while they wait."""
    mesh, running = backlog.mesh, _waiting_running(backlog)
    room = mesh.rule.room_tokens(mesh.engine, running)
    return mesh.rate_rps * mesh.engine.demand.mean_prompt * mesh.engine.step_s(room, running) / room


def _by_running(backlog: Backlog) -> float:
    """Tokens that wait since the number running is not always what it is while they do."""
    mesh = backlog.mesh
    slots = mesh.engine.slots
    most = slots - max(mesh.joining, slots / mesh.remaining) - 1e-6  # one more place is free
    chain = StepsAt.of(mesh, max(min(_waiting_running(backlog), most), 0.0))
    held = chain.stationary * chain.seconds
    cells = np.arange(mesh.n_w)
    found = float(backlog.in_time.sum(axis=1) @ cells) - float(held @ cells) / float(held.sum())
    return max(found, 0.0) * mesh.cell
