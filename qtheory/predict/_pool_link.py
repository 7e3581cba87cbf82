"""From the end of a prompt to the decode instance: a link that carries one prompt after the other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ._cells import spread
from ._gridlaw import GridLaw
from ._round_output import RoundOutput
from .demand import Demand

__all__ = ["LEVELS", "SHARES", "Transfers"]

Floats = NDArray[np.float64]

_EDGES = np.concatenate([np.linspace(0.0, 0.9, 25), [0.93, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999, 1.0]])
SHARES = np.diff(_EDGES)
"""Shares of the requests for which a time is taken at its mean: finer where they are late."""
LEVELS = (_EDGES[1:] + _EDGES[:-1]) / 2
"""Middles of the same."""

_CELLS = 1024
_MOST_LOAD = 0.999


@dataclass(frozen=True, eq=False, kw_only=True)
class Transfers:
    """Transfers of the prompts that a step completes together; they go in their order.

    A link that is quicker than its prefill instance is mostly free when a step ends: the batch before has
    left what it takes longer than that step. A slower link is a queue of the requests themselves: those of a
    step are behind one another, but what comes in a long time varies no more than without steps.
    """

    demand: Demand
    tokens_per_s: float
    latency_s: float
    rate_rps: float  # of a link
    output: RoundOutput  # of the prefill instance
    n_links: int  # of a prefill instance, one of which a request takes
    bursts: float = 1.0  # index of dispersion of the requests of a link

    @cached_property
    def send_s(self) -> float:
        """Mean seconds that a prompt holds the link."""
        return self.demand.mean_prompt / self.tokens_per_s + self.latency_s

    @cached_property
    def ahead(self) -> Floats:
        """P(k of the own step go before over the same link) (most,)."""
        seen = self.output.chain.sizes_seen
        places = np.cumsum((seen / np.arange(1.0, len(seen) + 1))[::-1])[::-1]
        if self.n_links == 1:
            return np.asarray(places / places.sum())
        share, n = 1 / self.n_links, len(places)
        found, power = np.zeros(n), np.eye(1, n)[0]
        for place in places:
            found += place * power
            power = (1 - share) * power + share * np.append(0.0, power[:-1])
        return np.asarray(found / found.sum())

    @cached_property
    def left_s(self) -> float:
        """Mean seconds that earlier steps have left on the link."""
        send = self.send_s
        load = min(self.rate_rps * send, _MOST_LOAD)
        square = self.demand.prompt_moment(2) / self.demand.mean_prompt**2
        queue = load * send * (square + self.bursts - 1) / 2 / (1 - load)  # steps make no more of a burst
        chain, each = self.output.chain, send / self.n_links
        pace = each * chain.rounds.limit_rps
        if pace >= 1:
            return queue
        steps, coming = chain.rounds.mean_s(), self.output.next_sizes
        place = np.clip(np.arange(coming.shape[1]) - 1, 0, len(steps) - 1)
        until = steps[place] + np.append(1 / chain.rate_rps, np.zeros(len(place) - 1))  # nobody came: later
        sizes = np.arange(1.0, len(steps) + 1)
        late = (np.maximum(each * sizes[:, None] - until, 0.0) * coming).sum(axis=1)
        batches = chain.sizes_seen / sizes
        return min(queue, float(late @ batches) / float(batches.sum()) / (1 - pace))

    @cached_property
    def seconds(self) -> Floats:
        """Seconds (w,) from the end of the prefill until the decode instance has the prompt, for `SHARES`."""
        demand = self.demand
        held = demand.prompt_tokens / self.tokens_per_s + self.latency_s
        most = int(np.flatnonzero(np.cumsum(self.ahead) > 1 - 1e-9)[0]) + 1
        square = float(held**2 @ demand.prompt_probs) - self.send_s**2
        reach = most * self.send_s + 8 * np.sqrt(most * square) + held.max() + 12 * self.left_s
        cell = reach / _CELLS
        one = np.fft.rfft(spread(held / cell, demand.prompt_probs, _CELLS), 2 * _CELLS)
        transform, power = np.zeros_like(one), one
        for share in self.ahead[:most]:
            transform, power = transform + share * power, power * one
        if self.left_s > 0:
            rest = np.exp(-np.arange(2.0 * _CELLS) * cell / self.left_s)
            transform = transform * np.fft.rfft(rest / rest.sum())
        law = np.fft.irfft(transform, 2 * _CELLS).clip(0.0)
        mean = self.send_s * (1 + float(self.ahead @ np.arange(len(self.ahead)))) + self.left_s
        grid = GridLaw(times_s=cell * np.arange(2.0 * _CELLS), cdf=np.cumsum(law) / law.sum(), mean_s=mean)
        atoms = np.array([grid.quantile(level) for level in LEVELS])
        return np.asarray(atoms * (mean / float(atoms @ SHARES)))
