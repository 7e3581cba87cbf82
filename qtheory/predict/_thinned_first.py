"""What arrivals find of which some do not stay, and the tokens until the own first one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len

from ._cells import between, spread
from ._clearing import FINE, clearing_s, turn_s
from ._followers import Comers
from ._mesh import Mesh
from ._thinned import Thinned
from ._turns import Turns

__all__ = ["Kept", "ahead_of", "turns_of", "with_own"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_LEAST, _RARE = 1e-9, 1e-8  # seconds or mass; mass of those with so much ahead
_LEVELS = (np.arange(6) + 0.5) / 6  # of the wait for a place


def turns_of(mesh: Mesh, nodes: Floats, n: int) -> Turns:
    """The turns at these numbers running: the fluid's, of which the time until the places are free is chance.

    Where all places are taken it takes a whole end to free one, of which a fluid has seen half on average.
    """
    engine = mesh.engine
    open_s = turn_s(mesh, nodes, n, shuts=False)
    wait_s = turn_s(mesh, nodes, n) - open_s
    waits = wait_s > _LEAST
    end_s = max(engine.demand.mean_decode * engine.decode_s(engine.slots) / engine.slots, _LEAST)
    ends = np.where(waits, np.maximum(wait_s / end_s + 0.5, 1.0), 0.0)
    return Turns(open_s=open_s, ends=ends, end_s=end_s)


def ahead_of(
    thinned: Thinned,
    nodes: Floats,
    place: tuple[Ints, Floats],
    seconds: Floats,
    left: Ints,
    *,
    weight: Floats,
    mates: Floats,
) -> Floats:
    """Laws (nodes, times_s, n) of cells ahead of an arrival with so much left of the step, own batch and all.

    Parameters
    ----------
    thinned : Thinned
    nodes : array, shape (nodes,)
        Numbers running.
    place : tuple of array, shape (m,)
        Node of each kind of step, and the share of the way to the next.
    seconds, left, weight : array, shape (m,)
        Of these steps; ``weight``: the share of time.
    mates : array, shape (nodes, times_s, n)
        The same of those who come at the start of a step.
    """
    n_nodes, n_times, n = mates.shape
    begun = np.zeros((n_nodes, n_times, n))
    node, between_nodes = place
    low, share = between(thinned.times_s, seconds)
    for more, part in ((0, 1 - between_nodes), (1, between_nodes)):
        for later, piece in ((0, 1 - share), (1, share)):
            rate = part * piece * weight / np.maximum(seconds, 1e-300)  # a second of the step
            np.add.at(begun, (node + more, low + later, left), rate)
    found, law, ways = mates.copy(), np.zeros((n_nodes, n)), between(thinned.nodes, nodes)
    for k in range(n_times - 1, 0, -1):
        law = law + begun[:, k]
        width = thinned.times_s[k] - thinned.times_s[k - 1]
        found[:, k] += law * width / 2
        law = (law[:, None, :] @ _mixed(thinned.parts[k - 1][0], ways))[:, 0]
        found[:, k - 1] += law * width / 2
    if thinned.engine.demand.mean_batch > 1:
        for k, rest_s in enumerate(thinned.times_s):
            before = _mixed(thinned.before(float(rest_s)), ways)
            found[:, k] = (found[:, k, None, :] @ before)[:, 0]
    return found


def _mixed(laws: Floats, ways: tuple[Ints, Floats]) -> Floats:
    """Moves (nodes, n, n) at numbers running between those of ``laws``."""
    node, share = ways
    return np.asarray((1 - share)[:, None, None] * laws[node] + share[:, None, None] * laws[node + 1])


@dataclass(frozen=True, kw_only=True, eq=False)
class Kept:
    """Those that stay, apart by whether a place keeps them waiting: each of them needs one, long or short.

    Then a prompt goes by itself, as soon as there is one; else it goes with those ahead.
    """

    totals: Floats  # (nodes, rests, n) laws of the tokens ahead and the own prompt, who waits for no place
    node: Ints  # (m,) of those that wait for one
    times_s: Floats  # (m,) to their first token
    mass: Floats  # (m,)

    def waits(self, node: int) -> tuple[Floats, Floats, Comers]:
        """Times and weights of those that wait for a place, and who comes behind them."""
        here = self.node == node
        times, weight = self.times_s[here], self.mass[here]
        return times, weight, Comers(times_s=times, since_s=np.zeros_like(times), weight=weight)


def with_own(mesh: Mesh, thinned: Thinned, nodes: Floats, ahead: Floats, rests_s: Floats, *, n: int) -> Kept:
    """Those of (nodes, rests, n_w) with so much ahead that stay; ``n`` fine cells for the own prompt too."""
    turns = turns_of(mesh, nodes, ahead.shape[2])
    waits = turns.ends > 0
    left_s = thinned.deadline_s - rests_s[None, :, None] - turns.open_s[:, None, :]
    free = (ahead * ~waits[:, None, :])[..., None] * thinned.stays(left_s)
    own_s = _own_s(mesh, thinned, nodes)
    times, mass, node = _waiting(thinned, turns, left_s, ahead * waits[:, None, :], own_s)
    totals = _joined(thinned, free, mesh.cell / FINE, n)
    return Kept(totals=totals, node=node, times_s=times, mass=mass)


def _waiting(
    thinned: Thinned, turns: Turns, left_s: Floats, ahead: Floats, own_s: tuple[Floats, Floats]
) -> tuple[Floats, Floats, Ints]:
    """Times to first token, weights and nodes (m,) of those that wait for a place and stay."""
    low, _ = thinned.spans_s
    node, rest, cell = np.nonzero(ahead > _RARE)
    some = turns.at(node, cell)
    most = left_s[node, rest, cell]
    waits = some.waits(most - low.min(), _LEVELS)  # (levels, m)
    stays = thinned.stays(most - waits)  # (levels, m, g)
    within = some.within(most[:, None] - sum(thinned.spans_s) / 2, thinned.probs)  # (m, g)
    whole = stays.sum(axis=0)
    stays[0][whole <= 0] = 1.0  # later than all of the levels, at the last moment
    whole = stays.sum(axis=0)
    mass = stays * (thinned.probs * within / np.maximum(whole, _LEAST)) * ahead[node, rest, cell][:, None]
    shortest, mean = own_s
    own = shortest[node] + stays * (mean - shortest)[node]
    last = np.maximum(most[:, None] - sum(thinned.spans_s) / 2, 0.0)
    times = (thinned.deadline_s - most)[:, None] + np.minimum(waits[..., None], last) + own
    kept = mass > _LEAST
    return times[kept], mass[kept], np.broadcast_to(node[None, :, None], mass.shape)[kept]


def _own_s(mesh: Mesh, thinned: Thinned, nodes: Floats) -> tuple[Floats, Floats]:
    """Seconds (nodes, g) of the shortest and of the mean prompt of a group, beside so many that run."""
    fine, tokens = mesh.cell / FINE, thinned.engine.weighted_tokens / mesh.cell * FINE
    probs = thinned.engine.demand.prompt_probs
    n = int(tokens.max()) + 2
    done = clearing_s(mesh, nodes, fine, n, shuts=False)
    alone = np.array([np.interp(tokens, np.arange(n), row) for row in done.T])
    low = [alone[:, part].min(axis=1) for part in thinned.groups]
    mean = [alone[:, part] @ probs[part] / max(float(probs[part].sum()), 1e-300) for part in thinned.groups]
    return np.stack(low, axis=1), np.stack(mean, axis=1)


def _joined(thinned: Thinned, free: Floats, fine: float, n: int) -> Floats:
    """Laws (nodes, rests, n) on fine cells of what is ahead, (nodes, rests, n_w, g), and the own prompt.

    Each cell ahead is a triangle of fine ones, and nothing ahead stays nothing. On every ``FINE``-th place
    only, a law has a transform that repeats itself ``FINE`` times, so the transforms are of cells.
    """
    tokens, probs = thinned.engine.weighted_tokens, thinned.engine.demand.prompt_probs
    cells = next_fast_len(2 * n // FINE + 1)
    length = FINE * cells
    own = np.fft.rfft([spread(tokens[part] / fine, probs[part], n) for part in thinned.groups], length)
    triangle = np.zeros(length)
    triangle[np.arange(1 - FINE, FINE)] = (FINE - np.abs(np.arange(1 - FINE, FINE))) / FINE**2
    shape, none = free.shape[:2], free[:, :, 0].reshape(-1, len(own))
    some = free.copy()
    some[:, :, 0] = 0.0
    laws = np.moveaxis(np.fft.fft(some, cells, axis=2), 2, 0).reshape(cells, -1, len(own))
    half = own.shape[1]
    turns = np.zeros((-(-half // cells) * cells, len(own)), dtype=complex)
    turns[:half] = (own * np.fft.rfft(triangle)).T
    whole = laws @ turns.reshape(-1, cells, len(own)).transpose(1, 2, 0)  # (cells, nodes * rests, turns)
    whole = np.moveaxis(whole, 2, 0).reshape(-1, len(none))[:half].T + none @ own
    law = np.fft.irfft(whole, length, axis=1).clip(0.0)
    law[:, n - 1] += law[:, n:].sum(axis=1)
    return np.asarray(law[:, :n].reshape(*shape, n))
