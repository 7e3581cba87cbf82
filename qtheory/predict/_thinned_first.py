"""What arrivals find of which some do not stay, and the tokens until the own first one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len

from ._cells import between, spread
from ._clearing import FINE
from ._thinned import Thinned

__all__ = ["ahead_of", "with_own"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


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


def with_own(thinned: Thinned, ahead: Floats, rests_s: Floats, fine: float, n: int) -> Floats:
    """Laws (nodes, rests, n) of the tokens ahead and the own prompt, in fine cells, of those that stay."""
    demand, tokens = thinned.engine.demand, thinned.engine.weighted_tokens
    stays, length = thinned.accepted(rests_s), next_fast_len(2 * n, real=True)
    whole = np.zeros((*ahead.shape[:2], length // 2 + 1), dtype=complex)
    for group, part in enumerate(thinned.groups):
        inner = ahead * stays[None, :, :, group]
        spread_ahead = np.zeros((*ahead.shape[:2], n))
        spread_ahead[:, :, 0] = inner[:, :, 0]
        for step in range(1 - FINE, FINE):  # each cell as a triangle; nothing ahead stays nothing
            places = np.arange(1, inner.shape[2]) * FINE + step
            spread_ahead[:, :, places] += inner[:, :, 1:] * (FINE - abs(step)) / FINE**2
        own = spread(tokens[part] / fine, demand.prompt_probs[part], n)
        whole += np.fft.rfft(spread_ahead, length, axis=2) * np.fft.rfft(own, length)
    law = np.fft.irfft(whole, length, axis=2).clip(0.0)
    law[:, :, n - 1] += law[:, :, n:].sum(axis=2)
    return np.asarray(law[:, :, :n])
