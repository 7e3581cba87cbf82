"""How many requests a batch holds: token budget, memory for whole requests, and slots."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

from ._cells import spread
from .inputs import Engine

__all__ = ["Room"]

Floats = NDArray[np.float64]

_CELLS, _MOST_CELLS = 1500, 6000  # of the token budget
_DAMPED = 1e-9  # what comes round counts so much
_SELDOM = 1e-7


@dataclass(frozen=True, eq=False)
class Room:
    """Requests in order of arrival that fit into a batch together."""

    engine: Engine

    @cached_property
    def _rooms(self) -> Floats:
        """P(k requests fit) (2, max_seqs), k = 1, ..., into the token budget and whole into the memory.

        The first is the one that did not fit into the last batch: long ones are so more often, in proportion
        to their length, as the interval is that covers a point of a renewal process. What requests take of
        the memory is known by mean and variance.
        """
        demand, engine = self.engine.demand, self.engine
        mean, square = demand.mean_prompt, demand.prompt_moment(2)
        var = square - mean**2
        head_var = demand.prompt_moment(3) / mean - (square / mean) ** 2
        var_d = demand.decode_moment(2) - demand.mean_decode**2
        joint = demand.prompt_decode - mean * demand.mean_decode
        whole = mean + demand.mean_decode + 1 + (engine.block_tokens - 1) / 2
        whole_var = max(var + var_d + 2 * joint, 0.0)
        whole_head = whole + whole_var / whole
        whole_head_var = whole_var * (head_var / var if var > 0 else 1.0)
        others = np.arange(float(engine.max_seqs))
        in_budget = _within(
            float(engine.budget_tokens), demand.prompt_tokens, demand.prompt_probs, len(others)
        )
        in_memory = _below(engine.kv_tokens, whole_head + others * whole, whole_head_var + others * whole_var)
        both = np.stack([in_budget, in_memory])
        both[:, 0] = 1.0
        return np.minimum.accumulate(both, axis=1)

    @cached_property
    def fits(self) -> Floats:
        """P(k requests fit) (most,), k = 1, ..."""
        room = self._rooms.min(axis=0)
        return np.asarray(room[: int(np.sum(room > 1e-6))])

    @property
    def binds(self) -> str:
        """What ends a batch when many wait."""
        in_budget, in_memory = self._rooms.sum(axis=1)
        if min(in_budget, in_memory) > self.engine.max_seqs - 0.5:
            return "slots"
        return "token budget" if in_budget <= in_memory else "KV memory"


def _within(most: float, tokens: Floats, probs: Floats, n: int) -> Floats:
    """P(1, ..., n prompts have at most ``most`` tokens) (n,), the first of them long in proportion.

    Sums on cells of which each prompt has a whole number if few enough do; damped, so that sums that are much
    larger do not come round.
    """
    mean = float(tokens @ probs)
    found = np.ones(n)
    if n * float(tokens.max()) <= most:
        return found
    unit = float(np.gcd.reduce(np.round(tokens).astype(np.int64)))
    unit = unit if unit * _MOST_CELLS > most else most / _CELLS
    cell = unit / np.ceil(unit * _CELLS / most)
    room = int(most / cell + 1e-9)
    length = 4 * (room + 2)
    damping = _DAMPED ** (np.arange(room + 2.0) / length)
    places = np.minimum(tokens / cell, room + 1.0)  # beyond is beyond
    first, other = (
        np.fft.rfft(damping * spread(places, weights, room + 2), length)
        for weights in (probs * tokens / mean, probs)
    )
    inside = np.fft.rfft(np.append(1 / damping[: room + 1], np.zeros(length - room - 1)))
    inside = inside.conj() / length
    inside[1 : (length + 1) // 2] *= 2  # of both signs
    for k in range(n):
        found[k] = np.clip((first @ inside).real, 0.0, 1.0)
        if found[k] < _SELDOM:
            found[k:] = 0.0
            break
        first = first * other
    return found


def _below(most: float, mean: Floats, var: Floats) -> Floats:
    """P(a gamma amount of this mean and variance is at most ``most``)."""
    shape = mean**2 / np.maximum(var, 1e-9 * mean**2)
    return np.asarray(gammainc(shape, most * shape / mean))
