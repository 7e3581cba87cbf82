"""Law of the time to first token: the rest of the step that an arrival finds, and the steps to its own end.

An arrival at a share u of a step finds the tokens that the step leaves and those that came before it in the
step; with its own prompt they are cleared in full steps and a last one. Prompts behind it lengthen the last
step, as far as there is room. Slots that are taken hold it up until running requests end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len

from ._backlog import Backlog
from ._cells import between
from ._cells import spread as spread_on
from ._clearing import FINE, clearing_s
from ._ends import ends_at
from ._followers import Comers
from ._gridlaw import GridLaw, law_of_atoms
from ._grouped import add, nodes_of
from ._mesh import Mesh
from ._thinned import Thinned
from ._thinned_first import ahead_of, with_own

__all__ = [
    "FirstToken",
    "Found",
    "ahead_and_own",
    "first_token",
    "found_by",
    "own_prompts",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
_Part = tuple[Floats, Floats, Callable[..., Floats]]

_SHARES = (1 / 6, 3 / 6, 5 / 6)  # of the step that are over when a request arrives
_MOMENT_S = 1e-9  # after the arrival
_NEVER = 1e-13


@dataclass(frozen=True, kw_only=True, eq=False)
class FirstToken:
    """Law of TTFT, apart for numbers running, and what is left behind when the token comes."""

    law: GridLaw
    by_running: tuple[GridLaw, ...]
    running: Floats  # (k,) numbers running when the prompt gets its turn
    weights: Floats  # (k,)
    joined: Floats  # (k,) requests that join the running ones together with the own one or just before
    served: float  # share of the arrivals
    behind: Floats  # (k, n_w) laws of the tokens that wait when the own prompt has ended
    mates: Floats  # (k, n_w) the same with nobody that follows but the own batch, at once


@dataclass(frozen=True, eq=False)
class Found:
    """What arrivals find, grouped: (nodes, rests, n) laws of tokens ahead in cells.

    The last of the rests are those who find nobody, and start alone at once: the first of their batches.
    """

    nodes: Floats
    rests_s: Floats
    ahead: Floats


def first_token(backlog: Backlog) -> FirstToken:
    """TTFT of the chain, in order of arrival."""
    return _law(backlog.mesh, found_by(backlog))


def _law(mesh: Mesh, found: Found) -> FirstToken:
    """TTFT by what arrivals find, and what is left behind."""
    fine = mesh.cell / FINE
    n = (mesh.n_w + found.ahead.shape[2]) * FINE
    if mesh.thinned is not None:
        kept = with_own(mesh, mesh.thinned, found.nodes, found.ahead, found.rests_s, n=n)
        totals, done = kept.totals, clearing_s(mesh, found.nodes, fine, n, shuts=False)
    else:
        kept, totals = None, ahead_and_own(mesh, found, fine, n)
        done = clearing_s(mesh, found.nodes, fine, n)
    parts = [_at(mesh, found, totals[k], done[:, k], k) for k in range(len(found.nodes))]
    if kept is not None:
        parts = [_joint(part, kept.waits(k)) for k, part in enumerate(parts)]
    weights = np.array([weight.sum() for _, weight, _ in parts])
    laws = tuple(law_of_atoms(t, w) if w.sum() > 1e-9 else None for t, w, _ in parts)
    whole = law_of_atoms(np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]))
    behind = [law(mesh) for _, _, law in parts]
    lasting = mesh.engine.demand.following is not None
    mates = [law(mesh, at_once=True) for _, _, law in parts] if lasting else behind
    some = [k for k, law in enumerate(laws) if law is not None]
    return FirstToken(
        law=whole,
        by_running=tuple(law for law in laws if law is not None),
        running=found.nodes[some],
        weights=weights[some] / weights[some].sum(),
        joined=_joined(mesh, found)[some],
        served=float(min(weights.sum(), 1.0)),
        behind=np.array(behind)[some],
        mates=np.array(mates)[some],
    )


def _joint(part: _Part, more: tuple[Floats, Floats, Comers]) -> _Part:
    """The atoms of those that wait for no place and of those that do."""

    def behind(mesh: Mesh, *, at_once: bool = False) -> Floats:
        return part[2](mesh, at_once=at_once) + more[2].law(mesh, at_once=at_once)

    return np.concatenate([part[0], more[0]]), np.concatenate([part[1], more[1]]), behind


def found_by(backlog: Backlog) -> Found:
    """What arrivals find."""
    mesh = backlog.mesh
    w, y = np.nonzero(backlog.in_time > 1e-7)
    weight = backlog.in_time[w, y]
    weight = weight / weight.sum()
    seconds, taken = mesh.seconds[w, y], mesh.taken[w, y]
    x = mesh.x[w, y] + mesh.waiting[w] - mesh.waiting[w - taken] - mesh.decoded[w, y] / mesh.remaining
    x = np.maximum(x, 0.0)
    if mesh.thinned is not None:
        return _found_thinned(mesh, mesh.thinned, (w, y), x, weight)
    idle = mesh.idle[w, y] * mesh.idle_s / mesh.stays_s[w, y]
    nodes = nodes_of(x, weight, mesh)
    rests_s = np.concatenate([[0.0], np.geomspace(seconds.min() / 8, seconds.max(), 12)])
    times_s = np.concatenate([[0.0], np.geomspace(seconds.min() / 8, 1.001 * seconds.max(), 40)])
    shape = (mesh.n_w, len(nodes), len(rests_s), len(times_s))
    grouped = np.zeros(shape)
    node = between(nodes, x)
    for share in _SHARES:
        past = seconds * (share if mesh.rule.mixed else 1.0)  # alone in a step, all that came go together
        places = (node, between(rests_s, (1 - share) * seconds), between(times_s, past))
        add(grouped, w - taken, places, weight * (1 - idle) / len(_SHARES))
    nobody = np.bincount(node[0], weight * idle * (1 - node[1]), len(nodes))
    nobody += np.bincount(node[0] + 1, weight * idle * node[1], len(nodes))
    left, lasting_s, probs = _first_steps(mesh)
    past = np.zeros_like(lasting_s) if mesh.rule.mixed else lasting_s
    mates = np.zeros((shape[0], *shape[2:]))  # who come with the first of a batch, but behind it
    add(mates, left, (between(rests_s, lasting_s), between(times_s, past)), probs)
    mean_batch = mesh.engine.demand.mean_batch
    grouped += (1 - 1 / mean_batch) * nobody[None, :, None, None] * mates[:, None]
    came = mesh.inflow.laws_in(times_s)
    ahead = np.zeros((*shape[1:3], mesh.n_w))
    for start in np.nonzero(grouped.any(axis=(1, 2, 3)))[0]:
        laws = grouped[start] @ came
        ahead[:, :, start:] += laws[:, :, : mesh.n_w - start]
        ahead[:, :, -1] += laws[:, :, mesh.n_w - start :].sum(axis=2)
    first = np.zeros((len(nodes), 1, mesh.n_w))
    first[:, 0, 0] = nobody / mean_batch
    return Found(nodes, np.append(rests_s, 0.0), np.concatenate([ahead, first], axis=1))


def _found_thinned(
    mesh: Mesh, thinned: Thinned, place: tuple[Ints, Ints], x: Floats, weight: Floats
) -> Found:
    """The same where some do not stay; ``place``: cells and levels (m,) of the steps."""
    seconds, left, apart = mesh.seconds[place], mesh.left[place], nodes_of(x, weight, mesh)
    outside = (apart < thinned.nodes[0]) | (apart > thinned.nodes[-1])
    nodes = np.unique(np.concatenate([apart[outside], thinned.nodes]))  # as the chain tells them apart
    idle = mesh.idle[place] * mesh.idle_s / mesh.stays_s[place]
    node, share = between(nodes, x)
    nobody = np.bincount(node, weight * idle * (1 - share), len(nodes))
    nobody += np.bincount(node + 1, weight * idle * share, len(nodes))
    mean_batch, times_s = mesh.engine.demand.mean_batch, thinned.times_s
    mates = np.zeros((len(times_s), mesh.n_w))  # who come with the first of a batch, but behind it
    then, lasting_s, probs = _first_steps(mesh)
    low, later = between(times_s, lasting_s)
    np.add.at(mates, (low, then), probs * (1 - later))
    np.add.at(mates, (low + 1, then), probs * later)
    behind = (1 - 1 / mean_batch) * nobody[:, None, None] * mates
    ahead = ahead_of(thinned, nodes, (node, share), seconds, left, weight=weight * (1 - idle), mates=behind)
    first = np.zeros((len(nodes), 1, mesh.n_w))
    first[:, 0, 0] = nobody / mean_batch
    return Found(nodes, np.append(times_s, 0.0), np.concatenate([ahead, first], axis=1))


def _first_steps(mesh: Mesh) -> tuple[Ints, Floats, Floats]:
    """Cells left (k,), seconds and probabilities of the first step of a request that found nobody."""
    demand, n = mesh.engine.demand, mesh.n_w
    if mesh.thinned is not None:
        one = mesh.thinned.first / max(float(mesh.thinned.first.sum()), 1e-12)
    else:
        one = spread_on(mesh.engine.weighted_tokens / mesh.cell, demand.prompt_probs, n)
    cells = np.nonzero(one > 0)[0]
    taken = np.clip(cells, 1, mesh.full_cells)
    seconds = mesh.table.seconds(np.zeros(len(cells)), taken, mesh.full_cells)
    return np.maximum(cells - taken, 0), seconds, one[cells]


def _joined(mesh: Mesh, found: Found) -> Floats:
    """Requests (nodes,) ahead in the mean."""
    laws = found.ahead.sum(axis=1)
    waiting = np.interp(np.arange(laws.shape[1]), np.arange(mesh.n_w), mesh.waiting)
    each = mesh.remaining / max(mesh.engine.demand.mean_decode, 1e-9)
    batch = max(mesh.engine.demand.burstiness - 1, 0.0)  # others of the own batch
    return np.asarray(laws @ waiting / np.maximum(laws.sum(axis=1), 1e-300) * each + batch)


def ahead_and_own(mesh: Mesh, found: Found, fine: float, n: int, mates: float | None = None) -> Floats:
    """Laws (nodes, rests, n) of the tokens ahead and the own prompt, in fine cells, of those that stay;
    ``mates``: mean prompts of the own batch that go before it, if not those of the order of arrival."""
    inner, own = found.ahead, own_prompts(mesh, found.rests_s, fine, n, mates)
    reach = int(np.nonzero((own > _NEVER).any(axis=0))[0].max(initial=0)) + FINE * inner.shape[2]
    cells = next_fast_len(max(n, reach) // FINE + 1)
    length, half = FINE * cells, FINE * cells // 2 + 1
    triangle = np.zeros(length)  # each cell in fine ones; nothing ahead stays nothing
    triangle[np.arange(1 - FINE, FINE)] = (FINE - np.abs(np.arange(1 - FINE, FINE))) / FINE**2
    some = inner.copy()
    some[:, :, 0] = 0.0
    places = np.arange(half) % cells  # on every ``FINE``-th place only, a transform repeats itself
    product = np.take(np.fft.fft(some, cells, axis=2), places, axis=2)
    product *= np.fft.rfft(triangle)
    product += inner[:, :, :1]
    product *= np.fft.rfft(own, length)
    law = np.fft.irfft(product, length, axis=2)
    np.maximum(law, 0.0, out=law)
    law[:, :, n - 1] += law[:, :, n:].sum(axis=2)
    return np.asarray(law[:, :, :n])


def own_prompts(mesh: Mesh, rests_s: Floats, fine: float, n: int, mates: float | None) -> Floats:
    """Laws (rests, n) of a prompt with those of its batch that go before it; where whole prompts go together,
    with those that come behind before the step ends. The last is alone."""
    demand = mesh.engine.demand
    alone = spread_on(mesh.engine.weighted_tokens / fine, demand.prompt_probs, n)
    if demand.mean_batch <= 1:
        return np.broadcast_to(alone, (len(rests_s), n))
    transform = np.fft.rfft(alone, 2 * n)
    before = demand.mean_batch - 1 if mates is None else mates
    behind = np.zeros_like(rests_s) if mesh.rule.mixed else demand.mates(np.maximum(rests_s, _MOMENT_S))
    others = (1 + before - before * transform) * (1 + behind[:, None] - behind[:, None] * transform)
    others[-1] = 1.0
    found = np.fft.irfft(transform / others, 2 * n, axis=1).clip(0.0)
    found[:, n - 1] += found[:, n:].sum(axis=1)
    return np.asarray(found[:, :n])


def _at(mesh: Mesh, found: Found, total: Floats, cleared: Floats, k: int) -> _Part:
    """Atoms of TTFT, and what computes the law of what waits at its end, for the k-th number running."""
    ends = ends_at(mesh, float(found.nodes[k]), found.rests_s, cleared)
    times = ends.times_s
    own = np.broadcast_to(ends.own_s, total.shape)
    if not mesh.rule.mixed:
        since = np.maximum(found.rests_s, _MOMENT_S)
        since[-1] = 0.0
        rest = np.broadcast_to(since[:, None], total.shape)
        return times.ravel(), total.ravel(), Comers(times_s=own, since_s=rest, weight=total).law
    none, extra = ends.behind
    late = ends.late_s(extra)
    lone, met = total * none, total * (1 - none)
    since = ends.before_s.copy()
    since[-1, : mesh.full_cells * FINE + 1] = 0.0
    few = Comers(times_s=own, since_s=since, weight=lone)
    some = Comers(times_s=late, since_s=np.zeros_like(late), weight=met, served=extra / FINE, somebody=True)

    def behind(mesh: Mesh, *, at_once: bool = False) -> Floats:
        return few.law(mesh, at_once=at_once) + some.law(mesh, at_once=at_once)

    return np.concatenate([times.ravel(), late.ravel()]), np.concatenate([lone.ravel(), met.ravel()]), behind
