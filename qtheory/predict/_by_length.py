"""Waits by output length where the shortest outputs go first, to those in order of arrival."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len

from ._cells import spread
from .demand import Demand
from .inputs import Engine

__all__ = ["ByLength", "ahead_by_rank", "groups_of", "place_ratios", "prompt_waits"]

Floats = NDArray[np.float64]

_MOST_LOAD = 0.995
"""Of all loads here: from there to the limit, at which those that are still served above it are asked about
and no wait is finite, waits of the longest outputs grow no more."""
_ROUNDS = 12
_DIGITS = 6  # of decode steps
_FINER, _FURTHER, _LEAST = 4, 3, 1e-11


@dataclass(frozen=True, kw_only=True, eq=False)
class ByLength:
    """Prompt tokens that are done before a request of each length, the shortest outputs first."""

    tokens: Floats  # (g,) in the mean, without those of the own batch
    mates: Floats  # (g,) prompts of the own batch that go before, and what comes while they are done
    noise_tokens: Floats  # (g,) variance of them over their mean, given what was there at the arrival
    in_order_tokens: float  # in the mean, in order of arrival, with prompts of whole cells


def groups_of(demand: Demand) -> tuple[Floats, Floats, Floats]:
    """Decode steps (g,) in increasing order, probabilities and mean prompts of groups of all requests; those
    of equal length, which go in order of arrival, are one group."""
    steps, weights, prompts = demand.decode_groups
    one = demand.one_token_prob
    if one > 0:
        steps, weights = np.append(0.0, steps), np.append(one, weights)
        prompts = np.append(demand.prompt_given_decode[0], prompts)
    lengths, place = np.unique(np.round(steps, _DIGITS), return_inverse=True)
    shares = np.bincount(place, weights)
    return lengths, shares / shares.sum(), np.bincount(place, weights * prompts) / shares


def prompt_waits(engine: Engine, busy: float, cell: float, more: float = 1.0) -> ByLength:
    r"""Waits for the prompts before, with the share ``busy`` of the time taken by prompts one after another.

    Nobody in service is overtaken: a request waits for the rest of the prompt under way, for those of no
    longer outputs that wait, :math:`V=(R+B_\le)/(1-\sigma_\le)`, and for those of shorter outputs that come
    meanwhile, :math:`1/(1-\sigma_<)` [1]_. Of a burst it sees only those that are not behind it, so that the
    dispersion of the arrivals that matter to the share :math:`p` of the requests is :math:`1+p(I-1)`. What
    comes meanwhile is a busy period, whose variance follows from that of the prompts [2]_. Waits are for
    ``more`` times this load, but for those in order of arrival, which are those of prompts shared between
    ``cell`` and the next one, as those of the chain.

    References
    ----------
    .. [1] Phipps (1956), "Machine repair as a priority waiting-line problem", Operations Research 4, 76-85.
    .. [2] Takács (1962), "Introduction to the theory of queues", Oxford University Press, section 1.3.
    """
    demand, busy = engine.demand, min(busy, _MOST_LOAD)
    _, weights, prompts = groups_of(demand)
    mean, mates = float(weights @ prompts), demand.mean_batch - 1
    upto = np.cumsum(weights * prompts)
    before = np.append(0.0, upto[:-1])
    load = min(busy * more, _MOST_LOAD) / mean
    square = float(engine.weighted_tokens**2 @ demand.prompt_probs)
    rest = load * square / 2 + load * mates * upto**2
    own = mates * (upto + before)  # others of the burst: half of those alike, and all that are shorter
    left = 1 - load * before
    in_cells = busy / mean * (_square_in_cells(engine, cell) / 2 + mates * mean**2) / (1 - busy)
    each = square / mean + 2 * mates * before
    return ByLength(
        tokens=rest / (1 - load * upto) / left,
        mates=own / left / mean,
        noise_tokens=load * before * each / left**2,
        in_order_tokens=in_cells,
    )


def _square_in_cells(engine: Engine, cell: float) -> float:
    """Mean square of prompts that are shared between the cells below and above them."""
    places, probs = engine.weighted_tokens / cell, engine.demand.prompt_probs
    share = places - np.floor(places)
    return float((places**2 + share * (1 - share)) @ probs) * cell**2


def place_ratios(demand: Demand, load: float, wait_steps: float, more: float = 1.0) -> Floats:
    r"""Waits (g,) for a place to those in order of arrival, in which ``wait_steps`` decode steps are done.

    :math:`V_\le/(1-\sigma_<)` as above. Load and variance are those of the places that are taken while a
    request waits: within :math:`h` steps one of :math:`d` steps takes a place for :math:`\min(d, h)` of them,
    so that in a short time it is the number of requests that counts, and in a long one their decode steps;
    in an infinite one these alone.
    """
    steps, weights, _ = groups_of(demand)
    load, steps = min(load, _MOST_LOAD), np.maximum(steps, 1.0)
    most = min(load * more, _MOST_LOAD)
    if np.isinf(wait_steps):
        work, square = (np.cumsum(weights * steps**k) for k in (1, 2))
        sigma = most * work / work[-1]
        before = np.append(0.0, sigma[:-1])
        return np.asarray(square / square[-1] * (1 - load) / ((1 - before) * (1 - sigma)))
    ratios = np.ones_like(steps)
    for _ in range(_ROUNDS):
        taken = np.minimum(steps, np.maximum(wait_steps * ratios, 1.0)[:, None])
        work, square = (np.cumsum(weights * taken**k, axis=1) for k in (1, 2))
        sigma = most * work / work[:, -1:]
        upto, before = np.diagonal(sigma), np.append(0.0, np.diagonal(sigma, -1))
        share = np.diagonal(square / square[:, -1:])
        ratios = np.sqrt(ratios * share * (1 - load) / ((1 - before) * (1 - upto)))
    return ratios


def ahead_by_rank(engine: Engine, busy: float, cell: float, law: Floats, more: float = 1.0) -> Floats:
    r"""Cells ahead (1 + g, n) at the ranks of a law (n,) of cells, in order of arrival and of each length.

    With the share :math:`\sigma` of the time for prompts of no longer outputs, of :math:`\rho` for all, what
    is done before a request and does not come after it has the transform
    :math:`(1-\rho+(\rho-\sigma)R)/(1-\sigma RG)`, where :math:`R` is the rest of a prompt and :math:`G` what
    is left of its burst [1]_; in order of arrival :math:`\sigma=\rho`. So the shortest outputs wait for the
    rest of one prompt, which is never long, and the longest for a geometric number of them.

    References
    ----------
    .. [1] Kella and Yechiali (1988), "Priorities in M/G/1 queue with server vacations", Naval Research
       Logistics 35, 23-34.
    """
    demand, busy = engine.demand, min(busy, _MOST_LOAD)
    _, weights, prompts = groups_of(demand)
    upto = np.cumsum(weights * prompts) / float(weights @ prompts)
    mates = demand.mean_batch - 1
    size = next_fast_len(_FINER * _FURTHER * len(law))
    places = engine.weighted_tokens / cell * _FINER
    one = spread(places, demand.prompt_probs, size)
    rest = np.maximum(1 - np.cumsum(one), 0.0)
    whole, left = np.fft.rfft(one, 2 * size), np.fft.rfft(rest / rest.sum(), 2 * size)

    def laws(load: float, share: Floats) -> Floats:
        burst = 1 + mates * share[:, None] * (1 - whole)
        found = (1 - load + load * (1 - share[:, None]) * left) / (1 - load * share[:, None] * left / burst)
        return np.asarray(np.fft.irfft(found, 2 * size, axis=1)[:, :size].clip(0.0))

    ranks, fine = _beyond(law[None, :])[0], np.arange(size) / _FINER
    in_order = laws(busy, np.ones(1))
    by_length = laws(min(busy * more, _MOST_LOAD), upto)
    return np.array([np.interp(-ranks, -row, fine) for row in _beyond(np.vstack([in_order, by_length]))])


def _beyond(laws: Floats) -> Floats:
    """Logarithms (k, n) of the probability of more than so many, half of so many among them, given some."""
    there = np.cumsum(laws[:, ::-1], axis=1)[:, ::-1]  # so many or more
    some = np.maximum(there[:, 1:2], 1e-300)
    return np.log(np.clip((there - laws / 2) / some, _LEAST, 1.0))
