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

__all__ = ["Kept", "ahead_of", "with_own"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_LEAST = 1e-9  # seconds; mass


def ahead_of(
    thinned: Thinned,
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
    place : tuple of array, shape (m,)
        Node of the number running of each kind of step, and the share of the way to the next.
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
    found, law = mates.copy(), np.zeros((n_nodes, n))
    for k in range(n_times - 1, 0, -1):
        law = law + begun[:, k]
        width = thinned.times_s[k] - thinned.times_s[k - 1]
        found[:, k] += law * width / 2
        law = law @ thinned.parts[k - 1][0]
        found[:, k - 1] += law * width / 2
    if thinned.engine.demand.mean_batch > 1:
        for k, rest_s in enumerate(thinned.times_s):
            found[:, k] = found[:, k] @ thinned.before(float(rest_s))
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class Kept:
    """Those that stay, apart by whether a place keeps them waiting: each of them needs one, long or short.

    Then a prompt goes by itself, as soon as there is one; else it goes with those ahead.
    """

    totals: Floats  # (nodes, rests, n) laws of the tokens ahead and the own prompt, who waits for no place
    mass: Floats  # (nodes, rests, n_w, g) who waits for one
    before_s: Floats  # (nodes, rests, n_w) until the own turn
    own_s: Floats  # (nodes, rests, n_w, g) the own prompt

    def waits(self, node: int) -> tuple[Floats, Floats, Comers]:
        """Times and weights of those that wait for a place, and who comes behind them."""
        some = self.mass[node] > _LEAST
        before = np.broadcast_to(self.before_s[node][..., None], some.shape)[some]
        times, weight = before + self.own_s[node][some], self.mass[node][some]
        return times, weight, Comers(times_s=times, since_s=np.zeros_like(times), weight=weight)


def with_own(mesh: Mesh, thinned: Thinned, nodes: Floats, ahead: Floats, rests_s: Floats, *, n: int) -> Kept:
    """Those of (nodes, rests, n_w) with so much ahead that stay; ``n`` fine cells for the own prompt too."""
    demand, tokens, fine = thinned.engine.demand, thinned.engine.weighted_tokens, mesh.cell / FINE
    turns = turn_s(mesh, nodes, ahead.shape[2])
    waits = turns > turn_s(mesh, nodes, ahead.shape[2], shuts=False) + _LEAST
    before = rests_s[None, :, None] + turns[:, None, :]
    stays = thinned.stays(thinned.deadline_s - before)
    mass = (ahead * waits[:, None, :])[..., None] * stays * thinned.probs
    done = clearing_s(mesh, nodes, fine, n, shuts=False)
    alone = [
        np.array([np.interp(tokens / fine, np.arange(n), row) for row in done.T])[:, part]
        for part in thinned.groups
    ]
    low = np.stack([each.min(axis=1) for each in alone], axis=1)
    weights = [
        demand.prompt_probs[part] / max(demand.prompt_probs[part].sum(), 1e-300) for part in thinned.groups
    ]
    mean = np.stack([each @ weight for each, weight in zip(alone, weights, strict=True)], axis=1)
    own = low[:, None, None, :] + stays * (mean - low)[:, None, None, :]
    free = (ahead * ~waits[:, None, :])[..., None] * stays
    return Kept(totals=_joined(thinned, free, fine, n), mass=mass, before_s=before, own_s=own)


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
