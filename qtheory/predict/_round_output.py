"""What batches of prompts do to those who come after them: how far their ends come in bunches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ._round_chain import RoundChain

__all__ = ["RoundOutput"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RoundOutput:
    """Requests that end with, and after, one that ends: moments of the output of a `RoundChain`."""

    chain: RoundChain

    @cached_property
    def mates(self) -> float:
        """Mean number of others that end at the same moment."""
        sizes = np.arange(1.0, len(self.chain.sizes_seen) + 1)
        return float(self.chain.sizes_seen @ sizes) - 1

    @cached_property
    def next_sizes(self) -> Floats:
        """P(k come during a batch of b) (most, k)."""
        chain = self.chain
        starts = chain.taken + chain.leaving.sum(axis=1)
        starts = starts / np.maximum(starts.sum(axis=1, keepdims=True), 1e-300)
        return np.asarray(np.einsum("bi,bikj->bk", starts, chain.arrived_part))

    def following(self, per_s: float) -> float:
        r"""Requests that end later, each counted :math:`e^{-\theta t}` if it is t later; theta is ``per_s``.

        The sum over the batches ahead is a value of the chain: with its discounted kernel Q and batches M it
        is :math:`(I-Q)^{-1}M`. With ever more who wait it nears that of full batches for ever, geometrically;
        what it lacks is solved for.
        """
        chain, rounds = self.chain, self.chain.rounds
        n, p = chain.n_waiting, chain.arrivals.n_phases
        kept, idle = np.exp(-per_s * chain.times_s), chain.after_idle(per_s)
        part, full = chain.arrived(chain.part_laws * kept), chain.arrived(chain.full_laws * kept)
        sizes, part_s = np.arange(1.0, rounds.most + 1), rounds.room * (chain.part_laws @ kept)
        full_s = rounds.full * (chain.full_laws @ kept)
        for_ever = float(full_s @ sizes) / (1 - float(full_s.sum()))
        lost = (part[:, :, 0] * rounds.room[:, None, None]) @ (1 - idle.sum(axis=(1, 2)))  # of idle times
        less = np.zeros((n, p))
        at = np.minimum(np.arange(n - 1), rounds.most - 1)
        less[1:] += np.cumsum(full_s * (sizes + for_ever))[at, None]
        less[: rounds.most] += (part_s * (sizes + for_ever))[:, None] - lost * for_ever
        less -= for_ever
        ratio = self._ratio(full)
        rows = chain.rows(part, full, idle, ratio)[:n].reshape(n * p, n * p)
        values = np.linalg.solve(np.eye(n * p) - rows, less.ravel()).reshape(n, p)
        starts, far = self._next_starts(idle)
        at = np.arange(1, len(starts) + 1)
        listed = values[np.minimum(at, n) - 1] * (ratio ** np.maximum(at - n, 0.0))[:, None]
        beyond = (1 - chain.decay) * ratio / (1 - chain.decay * ratio)
        total = (starts.sum() + far.sum()) * for_ever + (starts * listed).sum()
        total += beyond * (far * np.where(at[:, None] < n, values[-1], listed)).sum()
        return float(total) / chain.per_batch

    def _ratio(self, full: Floats) -> float:
        """Where the drift of discounted batches is 1, below 1."""
        low, high = 0.5, 1.0
        while self.chain.drift(full, low) < 1:
            low, high = low / 2, low
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if self.chain.drift(full, middle) > 1 else (low, middle)
        return low

    def _next_starts(self, idle: Floats) -> tuple[Floats, Floats]:
        """Requests of a batch by what waits at the start of the next one, and its phase (q, p).

        Apart from them those of batches that leave more than is listed, as if they left the last number.
        """
        chain = self.chain
        sizes = np.arange(1.0, chain.rounds.most + 1)
        arrived = chain.arrived_full
        taken = np.einsum("bi,bikj->kj", sizes[:, None] * chain.taken, chain.arrived_part)
        later = np.tensordot((chain.left * sizes[:, None, None]).transpose(1, 0, 2), arrived, axes=2)
        waiting = np.zeros((len(later) + later.shape[1], chain.arrivals.n_phases))
        waiting[: len(taken)] += taken
        for left in range(1, len(later)):
            waiting[left : left + later.shape[1]] += later[left]
        waiting[1 : chain.n_waiting + 1] += np.tensordot(waiting[0], idle, axes=1)
        far = np.zeros_like(waiting)
        for size, (tail, come) in enumerate(zip(chain.left_beyond, arrived, strict=True), 1):
            left = len(later) - 1 - size
            far[left : left + come.shape[1]] += size * np.tensordot(tail, come, axes=1)
        return waiting[1:], far[1:]
