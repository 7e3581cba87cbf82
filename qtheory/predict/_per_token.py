"""Law of the time that a request takes for its output tokens, by its number of decode steps.

The d gaps of a request are d steps (or, where prompts run alone, d decode steps with the prompts before
them) of the chain of waiting tokens while the number running is held: mean and variance of their sum follow
by recursion, from what is left behind when the own prompt ends. The number running moves slowly: a request
sees its average over its own stay, with the share of the fluctuation of an Ornstein-Uhlenbeck process.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, gammaincinv

from ._backlog import Backlog
from ._beside import skewed
from ._cells import between
from ._counts import unseen_var
from ._first_token import FirstToken
from ._held import KEPT, Held, held
from ._mesh import Mesh
from ._most_stall import most_stall_s
from ._slow import Slow

__all__ = ["DecodeAtoms", "decode_atoms"]

Floats = NDArray[np.float64]

_ROUNDS = 3  # of a stay and those who follow in it
_EDGES = np.array(
    [0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.87, 0.93, 0.965, 0.985, 0.995, 1]
)
_LEVELS = (_EDGES[:-1] + _EDGES[1:]) / 2
_MASS = np.diff(_EDGES)


@dataclass(frozen=True, kw_only=True, eq=False)
class DecodeAtoms:
    """Seconds for all output tokens after the first, as atoms."""

    steps: Floats  # (g,) decode steps of groups of outputs, all >= 1
    step_weights: Floats  # (g,) of all requests; the rest has one token
    seconds: Floats  # (k, g, m) by number running
    mass: Floats  # (k, g, m) that add up to 1 over m
    mean_s: Floats  # (k, g)
    lift: float = 1.0  # of the mean gap, by what the chain of numbers does not know


@dataclass(frozen=True, eq=False)
class _Stay:
    """Numbers running that requests see: at their start, in the long run, and how fast that comes."""

    backlog: Backlog
    first: FirstToken

    @cached_property
    def start(self) -> Floats:
        """(k,) right after the own prompt."""
        own = self.first.joined + 1.0
        running, weights = self.first.running, self.first.weights
        mean = float(weights @ running)
        blurred = float(weights @ (running - mean) ** 2)  # what lies between two numbers is given to both
        sharp = math.sqrt(min(self._var / blurred, 1.0)) if blurred > 0 else 1.0
        found = np.minimum(mean + sharp * (running - mean) + own, self.backlog.mesh.engine.slots)
        return np.asarray(found + 1e-6 * np.arange(len(found)))  # no two alike

    @property
    def _var(self) -> float:
        """Variance of the numbers that arrivals find, at the end of a step."""
        mesh, law = self.backlog.mesh, self.backlog.in_time
        left = mesh.waiting[:, None] - mesh.waiting[np.arange(mesh.n_w)[:, None] - mesh.taken]
        x = np.maximum(mesh.x + left - mesh.decoded / mesh.remaining, 0.0)
        return float((law * (x - float((law * x).sum())) ** 2).sum()) / float(law.sum())

    @cached_property
    def mean_start(self) -> float:
        return float(self.first.weights @ self.start)

    @cached_property
    def mean_later(self) -> float:
        return min(self.backlog.mean_running + 1.0, self.backlog.mesh.engine.slots)

    def seen(self, time_s: float, memory_s: float) -> Floats:
        """(k,) averages over a stay of ``time_s``."""
        z = time_s / memory_s
        kept = -math.expm1(-z) / z if z > 1e-9 else 1.0
        share = math.sqrt(max(2 / z * (1 - kept), 0.0)) if z > 1e-4 else 1.0
        middle = self.mean_later + kept * (self.mean_start - self.mean_later)
        seen = middle + share * (self.start - self.mean_start)
        return np.clip(seen, 0.0, self.backlog.mesh.engine.slots)


def decode_atoms(
    backlog: Backlog, first: FirstToken, behind: Floats | None = None, *, at_once: bool = False
) -> DecodeAtoms:
    """The law, for the numbers running of ``first``; groups of outputs with ``behind`` (g,) times as many
    tokens behind them as in order of arrival; with nobody that follows but the own batch ``at_once``."""
    first = replace(first, behind=first.mates) if at_once else first
    mesh, stay = backlog.mesh, _Stay(backlog, first)
    steps, weights, prompts = mesh.engine.demand.decode_groups
    if not len(steps):  # nobody decodes
        shape = (len(first.weights), 0, len(_MASS) + 1)
        none = np.zeros(shape)
        return DecodeAtoms(steps=steps, step_weights=weights, seconds=none, mass=none, mean_s=none[:, :, 0])
    own = _own_share(mesh, first) * (prompts / mesh.engine.demand.mean_prompt - 1)
    longer = np.maximum((1 + own) * (1.0 if behind is None else behind), 0.0)
    low, high = float(stay.start.min()), float(max(stay.start.max(), stay.mean_later))
    nodes = np.linspace(low, max(high, low + 0.5), KEPT)
    sums = [held(mesh, float(x), _start_law(stay, float(x))) for x in nodes]
    gaps = np.array([each.gap_s for each in sums])
    gap_s = float(np.interp(backlog.mean_running, nodes, gaps))
    slope = float(np.interp(backlog.mean_running, nodes, np.gradient(gaps, nodes)))
    feedback = min(max(mesh.rate_rps * mesh.engine.demand.mean_decode * slope, 0.0), 0.97)
    slow = Slow.of(backlog, slope, mesh.remaining * gap_s / (1 - feedback), feedback)
    tokens, own_s = np.stack(slow.tokens(steps), axis=1), slow.own_s(steps, prompts)
    shape, least_s = (len(first.weights), len(steps), len(_MASS) + 1), mesh.engine.decode_s(1.0)
    seconds, mass, means = np.zeros(shape), np.zeros(shape), np.zeros(shape[:2])
    apart = (not at_once) * unseen_var(mesh.engine.demand, mesh.rate_rps, first.law.mean_s, steps * gap_s)
    for g, d in enumerate(steps):
        place = between(nodes, stay.seen(d * gap_s, slow.memory_s))
        most_s = most_stall_s(mesh, stay.start, float(d))
        own_g = float(own_s[g])
        group = _Group(
            float(d), float(longer[g]), 0.0, float(apart[g]), gap_s, most_s, tokens[g], own_g, least_s
        )
        if not at_once and mesh.engine.demand.following is not None:
            group = _followed(mesh, first, sums, place, group)
        fitted = _fitted(mesh.rule.mixed, sums, place, slow, group)
        seconds[:, g], mass[:, g], means[:, g] = fitted
    return DecodeAtoms(
        steps=steps, step_weights=weights, seconds=seconds, mass=mass, mean_s=means, lift=slow.lift(gap_s)
    )


def _own_share(mesh: Mesh, first: FirstToken) -> float:
    """Share of the own prompt in the time to first token, during which others queue up behind."""
    engine = mesh.engine
    own = engine.step_s(engine.demand.mean_prompt, mesh.n_mean if mesh.rule.mixed else 0.0)
    return min(own / first.law.mean_s, 1.0)


@dataclass(frozen=True, eq=False)
class _Group:
    """Requests of one length."""

    steps: float
    behind: float  # tokens behind at the start, to those in the mean
    later: float  # requests that follow later, beyond the mean rate
    later_var: float  # of their number, and that of all who come, beyond that of batches
    gap_s: float
    most_stall_s: Floats  # (k,) of prompts
    tokens: Floats  # (2,) second and third cumulant of a gap by what others hold
    own_s: float  # of a gap, by what it holds itself
    least_s: float  # of a gap


def _followed(
    mesh: Mesh, first: FirstToken, sums: list[Held], place: tuple[NDArray[np.intp], Floats], group: _Group
) -> _Group:
    """With those who follow later in a burst: their prompts make the stay longer, and more follow."""
    low, share = place
    stay_s = group.steps * group.gap_s
    for _ in range(_ROUNDS):
        times_s = first.law.mean_s + np.array([0.0, stay_s])
        group = replace(group, later=float(np.diff(mesh.engine.demand.mates(times_s))[0]))
        each = np.array([one.at(group.steps, group.behind, group.later, 0.0)[0] for one in sums])
        stay_s = float(first.weights @ ((1 - share) * each[low] + share * each[low + 1]))
    return group


def _start_law(stay: _Stay, x: float) -> Floats:
    """What waits when decoding starts, at this number running."""
    first = stay.first
    if len(stay.start) == 1:
        law = first.behind[0]
    else:
        order = np.argsort(stay.start)
        low, share = between(stay.start[order], np.array([x]))
        law = (1 - share[0]) * first.behind[order[low[0]]] + share[0] * first.behind[order[low[0] + 1]]
    return np.asarray(law / law.sum())


def _fitted(
    mixed: bool,
    held: list[Held],
    place: tuple[NDArray[np.intp], Floats],
    slow: Slow,
    group: _Group,
) -> tuple[Floats, Floats, Floats]:
    """Atoms (k, m) of d gaps: no prompt in any of them, or else a beta or gamma law of the right moments."""
    (low, share), d = place, group.steps
    sums = np.array([each.at(d, group.behind, group.later, group.later_var) for each in held])  # (nodes, 2)
    plain = np.array([[h.alone_s, h.longest_s, h.lone_start, h.lone_next] for h in held])
    part = share[:, None]
    mean, var = ((1 - part) * sums[low] + part * sums[low + 1]).T
    whole = slow.grown(var, d, d * group.gap_s, float(group.tokens[0]))
    varied = group.tokens[0] > 0
    alone, longest, start, again = ((1 - part) * plain[low] + part * plain[low + 1]).T
    none = np.clip(start * again ** (d - 1), 0.0, 1 - 1e-9)
    base = d * alone
    some = np.maximum((mean - none * base) / (1 - none) - base, 1e-12)
    square = ((var if varied else whole) + (mean - base) ** 2) / (1 - none)
    spread = np.maximum(square - some**2, 1e-4 * some**2)
    levels = np.broadcast_to(_LEVELS, (len(base), len(_LEVELS)))
    if varied:  # also of those who meet no prompt
        levels = np.clip((levels - none[:, None]) / (1 - none[:, None]), 0.0, 1.0)
    span = np.maximum(d * (longest - alone), 1.001 * some) if mixed else None
    stalls = _stalls(some, spread, span, levels)
    expected = some * (1 - none) if varied else some
    stalls = stalls * (expected / np.maximum(stalls @ _MASS, 1e-300))[:, None]
    stalls = np.minimum(stalls, group.most_stall_s[:, None])
    if varied:
        middle = stalls @ _MASS
        moved = stalls - middle[:, None] + d * skewed(_LEVELS, *group.tokens[:, None])
        moved *= (np.sqrt(whole) / (np.sqrt(var) + d * math.sqrt(group.tokens[0])))[:, None]
        room = np.maximum(base + d * group.own_s + middle - d * group.least_s, 0.0)  # beside few hold little
        moved *= np.minimum(room / np.maximum(-moved.min(axis=1), 1e-300), 1.0)[:, None]
        stalls, none = middle[:, None] + moved, 0 * none
    base = base + d * group.own_s
    seconds = np.concatenate([base[:, None], base[:, None] + stalls], axis=1)
    mass = np.concatenate([none[:, None], (1 - none)[:, None] * _MASS[None, :]], axis=1)
    return seconds, mass, base + (1 - none) * (stalls @ _MASS)


def _stalls(mean: Floats, var: Floats, span: Floats | None, levels: Floats) -> Floats:
    """Quantiles (k, m) of a beta law up to ``span`` or, without that, of a gamma law, but for a factor."""
    if span is None:
        return np.asarray(gammaincinv((mean**2 / var)[:, None], levels) * (var / mean)[:, None])
    middle = mean / span
    total = np.maximum(middle * (1 - middle) * span**2 / var - 1, 0.02)
    return np.asarray(
        span[:, None] * betaincinv((middle * total)[:, None], ((1 - middle) * total)[:, None], levels)
    )
