"""Law of the time that a request takes for its output tokens, by its number of decode steps.

The d gaps of a request are d steps (or, where prompts run alone, d decode steps with the prompts before
them) of the chain of waiting tokens while the number running is held: mean and variance of their sum follow
by recursion, from what is left behind when the own prompt ends. The number running moves slowly: a request
sees its average over its own stay, with the share of the fluctuation of an Ornstein-Uhlenbeck process.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, gammaincinv

from ._backlog import Backlog
from ._cells import between
from ._counts import unseen_var
from ._first_token import FirstToken
from ._followers import followed, one_by_one
from ._mesh import Mesh, StepsAt
from ._most_stall import most_stall_s
from ._slow import Slow

__all__ = ["DecodeAtoms", "decode_atoms"]

Floats = NDArray[np.float64]

_NODES = 7
_LONGEST = 160  # steps followed one by one; beyond, sums grow evenly
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


@dataclass(frozen=True, eq=False)
class _Held:
    """Sums of gaps while the number running is held."""

    mean: Floats  # (d + 1,)
    var: Floats
    behind_mean: Floats  # of these what comes from the prompts behind at the start
    behind_var: Floats
    more_mean: Floats  # and what one request more behind adds
    more_var: Floats
    by_prompt: float  # of the variance of what is behind, the part of prompts that come one by one
    gap_s: float  # in the long run
    alone_s: float  # a step of decodes only
    longest_s: float
    lone_start: float  # probability that nothing waits at first
    lone_next: float  # and again after a step of decodes only

    def at(self, d: float, own: float, later: float, later_var: float) -> tuple[float, float]:
        """Mean and variance of d gaps if ``own`` times as much as usual is behind, and ``later`` follow, of
        whose number the variance is larger by ``later_var``. The variance by prompts that come one by one
        grows with ``own``, that by the time in which they come with its square."""
        place = min(d, float(_LONGEST))
        steps = np.arange(_LONGEST + 1.0)
        half = _LONGEST // 2
        slope = (self.var[-1] - self.var[half]) / (_LONGEST - half)
        mean, var, more, more_var, each, each_var = (
            float(np.interp(place, steps, column))
            for column in (
                self.mean, self.var, self.behind_mean, self.behind_var, self.more_mean, self.more_var
            )
        )  # fmt: skip
        mean += (d - place) * self.gap_s + (own - 1) * more + later * each
        grown = self.by_prompt * own + (1 - self.by_prompt) * own**2 - 1
        var += (d - place) * slope + grown * more_var + later * each_var + later_var * each**2
        return mean, max(var, 0.0)


def _held(mesh: Mesh, running: float, start: Floats) -> _Held:
    sums = _sums_of(mesh, running)
    starts = np.stack([start, np.eye(mesh.n_w)[0], followed(mesh, start, np.array(1.0))])
    means, squares = sums.means @ starts.T, sums.squares @ starts.T
    mean, empty, longer = means.T
    var, empty_var, longer_var = np.maximum(squares - means**2, 0.0).T
    return _Held(
        mean=mean,
        var=var,
        behind_mean=mean - empty,
        behind_var=var - empty_var,
        more_mean=longer - mean,
        more_var=longer_var - var,
        by_prompt=one_by_one(mesh, start),
        gap_s=sums.gap_s,
        alone_s=sums.alone_s,
        longest_s=sums.longest_s,
        lone_start=float(start[0]),
        lone_next=sums.lone_next,
    )


@dataclass(frozen=True, eq=False)
class _Sums:
    """First and second moments (gaps + 1, n_w) of sums of gaps, from each of the cells on."""

    means: Floats
    squares: Floats
    gap_s: float
    alone_s: float
    longest_s: float
    lone_next: float


@lru_cache(maxsize=_NODES)
def _sums_of(mesh: Mesh, running: float) -> _Sums:
    """Kept for those who begin with other laws of what waits."""
    chain = StepsAt.of(mesh, running)
    rows, seconds = _single_steps(mesh, chain, running)
    decodes = chain.decodes
    if decodes.all():
        cycle, weighted, first, second = rows, seconds[:, None] * rows, seconds, seconds**2
    else:
        prompts = rows * ~decodes[:, None]
        until = np.linalg.inv(np.eye(mesh.n_w) - prompts)
        cycle = until @ (rows * decodes[:, None])
        first = until @ seconds
        second = until @ (seconds**2 + 2 * seconds * (prompts @ first))
        weighted = until @ (seconds[:, None] * cycle)
    means, squares = np.zeros((2, _LONGEST + 1, mesh.n_w))
    for k in range(_LONGEST):
        squares[k + 1] = second + 2 * weighted @ means[k] + cycle @ squares[k]
        means[k + 1] = first + cycle @ means[k]
    at_decodes = float(chain.stationary[decodes].sum())
    return _Sums(
        means=means,
        squares=squares,
        gap_s=float(chain.stationary @ seconds) / max(at_decodes, 1e-12),
        alone_s=float(seconds[0]),
        longest_s=float(seconds.max()),
        lone_next=float(rows[0, 0]),
    )


def _single_steps(mesh: Mesh, chain: StepsAt, running: float) -> tuple[Floats, Floats]:
    """Rows and seconds of single steps, where cells stand for shares of a step or for several of them."""
    if not mesh.rule.mixed:
        return chain.rows, chain.seconds
    room = mesh.rule.room_tokens(mesh.engine, min(running, mesh.engine.slots))
    n_steps = np.where(chain.taken == mesh.full_cells, mesh.full_cells * mesh.cell / room, 1.0)
    moved = (1 / np.maximum(n_steps, 1.0))[:, None]  # the last of several steps ends in another cell
    return moved * chain.rows + (1 - moved) * np.eye(mesh.n_w), chain.seconds / n_steps


@dataclass(frozen=True, eq=False)
class _Stay:
    """Numbers running that requests see: at their start, in the long run, and how fast that comes."""

    backlog: Backlog
    first: FirstToken

    @cached_property
    def start(self) -> Floats:
        """(k,) right after the own prompt."""
        own = self.first.joined + 1.0
        found = np.minimum(self.first.running + own, self.backlog.mesh.engine.slots)
        return np.asarray(found + 1e-6 * np.arange(len(found)))  # no two alike

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
    own = _own_share(mesh, first)
    low, high = float(stay.start.min()), float(max(stay.start.max(), stay.mean_later))
    nodes = np.linspace(low, max(high, low + 0.5), _NODES)
    held = [_held(mesh, float(x), _start_law(stay, float(x))) for x in nodes]
    gaps = np.array([each.gap_s for each in held])
    gap_s = float(np.interp(backlog.mean_running, nodes, gaps))
    slope = float(np.interp(backlog.mean_running, nodes, np.gradient(gaps, nodes)))
    feedback = min(max(mesh.rate_rps * mesh.engine.demand.mean_decode * slope, 0.0), 0.97)
    slow = Slow.of(backlog, slope, mesh.remaining * gap_s / (1 - feedback))
    shape = (len(first.weights), len(steps), len(_MASS) + 1)
    seconds, mass, means = np.zeros(shape), np.zeros(shape), np.zeros(shape[:2])
    apart = (not at_once) * unseen_var(mesh.engine.demand, mesh.rate_rps, first.law.mean_s, steps * gap_s)
    for g, d in enumerate(steps):
        place = between(nodes, stay.seen(d * gap_s, slow.memory_s))
        longer = 1 + own * (prompts[g] / mesh.engine.demand.mean_prompt - 1)
        longer *= 1.0 if behind is None else float(behind[g])
        times_s = first.law.mean_s + np.array([0.0, d * gap_s])
        _, later = np.diff(mesh.engine.demand.mates(times_s, at_once=at_once), prepend=0.0)
        most_s = most_stall_s(mesh, stay.start, float(d))
        group = _Group(float(d), max(longer, 0.0), float(later), float(apart[g]), gap_s, most_s)
        fitted = _fitted(mesh.rule.mixed, held, place, slow, group)
        seconds[:, g], mass[:, g], means[:, g] = fitted
    return DecodeAtoms(steps=steps, step_weights=weights, seconds=seconds, mass=mass, mean_s=means)


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
    held: list[_Held],
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
    var = slow.grown(var, d, d * group.gap_s)
    alone, longest, start, again = ((1 - part) * plain[low] + part * plain[low + 1]).T
    none = np.clip(start * again ** (d - 1), 0.0, 1 - 1e-9)
    base = d * alone
    some = np.maximum((mean - none * base) / (1 - none) - base, 1e-12)
    square = (var + (mean - base) ** 2) / (1 - none)
    spread = np.maximum(square - some**2, 1e-4 * some**2)
    if mixed:
        span = np.maximum(d * (longest - alone), 1.001 * some)
        middle = some / span
        total = np.maximum(middle * (1 - middle) * span**2 / spread - 1, 0.02)
        stalls = span[:, None] * betaincinv(
            (middle * total)[:, None], ((1 - middle) * total)[:, None], _LEVELS[None, :]
        )
    else:
        shape = some**2 / spread
        stalls = gammaincinv(shape[:, None], _LEVELS[None, :]) * (spread / some)[:, None]
    stalls = stalls * (some / np.maximum(stalls @ _MASS, 1e-300))[:, None]
    stalls = np.minimum(stalls, group.most_stall_s[:, None])
    seconds = np.concatenate([base[:, None], base[:, None] + stalls], axis=1)
    mass = np.concatenate([none[:, None], (1 - none)[:, None] * _MASS[None, :]], axis=1)
    return seconds, mass, base + (1 - none) * (stalls @ _MASS)
