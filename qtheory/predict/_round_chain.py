"""How many wait when a batch is formed, and how long they have waited."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError

from ._rounds import Rounds

__all__ = ["RoundChain", "solve_rounds"]

Floats = NDArray[np.float64]

_N_TIMES = 400
_QUEUES = 4  # numbers waiting that are listed, in largest batches; above them the law is geometric


@dataclass(frozen=True, eq=False, kw_only=True)
class RoundChain:
    """The chain of numbers waiting at the start of a batch, of batches that take what they may.

    The rows are M/G^[1,b]/1 with a random b [1]_: what waits is taken if it fits, else a batch of the law of
    full ones. Numbers above those listed are geometric with the root of the increments' transform.

    References
    ----------
    .. [1] Bailey (1954), "On queueing processes with bulk service", J. Royal Stat. Soc. B 16, 80-87.
    """

    rounds: Rounds
    rate_rps: float
    mean_group: float  # requests that arrive at once
    cell_s: float
    n_waiting: int

    @property
    def times_s(self) -> Floats:
        """Grid (t,) of the seconds of a batch."""
        return np.asarray(self.cell_s * np.arange(float(_N_TIMES)))

    @cached_property
    def counts(self) -> Floats:
        """P(k arrive) (t, n_waiting + most + 1) in each of the times; the last holds the rest."""
        n = self.n_waiting + self.rounds.most + 1
        length = 1 << int(np.ceil(np.log2(3 * n + 64)))
        z = np.exp(-2j * np.pi * np.arange(length // 2 + 1) / length)
        group = z / (self.mean_group - (self.mean_group - 1) * z)
        exponent = np.outer(self.rate_rps / self.mean_group * self.times_s, group - 1)
        law = np.fft.irfft(np.exp(exponent), length, axis=1).clip(0.0)
        kept = law[:, :n].copy()
        kept[:, -1] += np.maximum(1 - kept.sum(axis=1), 0.0)
        return kept

    @cached_property
    def part_laws(self) -> Floats:
        """Laws (most, t) of the seconds of batches that take all who wait."""
        return self.rounds.laws(self.cell_s, _N_TIMES)

    @cached_property
    def full_laws(self) -> Floats:
        """The same of batches that leave somebody."""
        return self.rounds.laws(self.cell_s, _N_TIMES, full=True)

    @cached_property
    def full_law(self) -> Floats:
        """Law (t,) of the seconds of any batch that leaves somebody."""
        return np.asarray(self.rounds.full @ self.full_laws)

    @cached_property
    def group_law(self) -> Floats:
        """Law (n_waiting,) of the number 1, 2, ... that end an idle time together."""
        k = np.arange(self.n_waiting)
        law = (1 - 1 / self.mean_group) ** k / self.mean_group
        law[-1] += 1 - law.sum()
        return np.asarray(law)

    @cached_property
    def decay(self) -> float:
        """Ratio of P(q + 1 wait) to P(q wait) for large q: 1/z with E[z^(arrivals - batch)] = 1, z > 1."""
        rows = self.full_laws @ self.counts
        sizes, k = np.arange(1.0, self.rounds.most + 1), np.arange(self.counts.shape[1])

        def surplus(z: float) -> float:
            return float((self.rounds.full * z**-sizes) @ (rows @ z**k)) - 1

        low, high = 1.0, 1.0 + 1e-4
        while surplus(high) < 0 and high < 3:
            low, high = high, 1 + 1.5 * (high - 1)
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if surplus(middle) < 0 else (low, middle)
        return 1 / high

    @cached_property
    def waiting(self) -> Floats:
        """P(q wait when a batch is formed) (n_waiting,), q = 1, 2, ..."""
        n, most = self.n_waiting, self.rounds.most
        rows = np.zeros((n + most, n))
        arrived = self.counts
        part, full = self.part_laws @ arrived, self.full_laws @ arrived
        for size in range(1, most + 1):
            to = part[size - 1].copy()
            rows[size - 1] += self.rounds.room[size - 1] * to[1 : n + 1]
            rows[size - 1] += self.rounds.room[size - 1] * to[0] * self.group_law
            share = self.rounds.full[size - 1]
            if share > 1e-12:
                for q in range(size + 1, n + most + 1):
                    left = q - size
                    if left <= n:
                        rows[q - 1, left - 1 :] += share * full[size - 1, : n - left + 1]
        beyond = self.decay ** np.arange(1, most + 1)
        rows[n - 1] += beyond @ rows[n:]
        rows = rows[:n]
        system = np.eye(n) - rows
        weights = np.ones(n)
        weights[-1] = 1 / (1 - self.decay)
        system[:, 0] = weights
        right = np.zeros(n)
        right[0] = 1.0
        found = np.linalg.solve(system.T, right)
        if found.min() < -1e-6:
            raise ConvergenceError(f"rate_rps={self.rate_rps:g}: no law of the batches; simulate it")
        return np.asarray(found.clip(0.0) / (found.clip(0.0) @ weights))

    @cached_property
    def taken(self) -> Floats:
        """P(a batch takes b of all who wait) (most,)."""
        return np.asarray(self.waiting[: self.rounds.most] * self.rounds.room)

    @cached_property
    def leaving(self) -> Floats:
        """P(a batch takes b and leaves l) (most, left + 1); l = 0 stays empty."""
        n, most = self.n_waiting, self.rounds.most
        law = np.zeros((most, n + 1))
        for size in range(1, most + 1):
            law[size - 1, 1 : n - size + 1] = self.waiting[size:] * self.rounds.full[size - 1]
            tail = self.waiting[-1] * self.decay / (1 - self.decay) * self.rounds.full[size - 1]
            law[size - 1, n - size] += tail
        return law

    @cached_property
    def empty(self) -> float:
        """P(nobody waits at the end of a batch)."""
        return float(self.taken @ (self.part_laws @ self.counts[:, 0]))

    @cached_property
    def per_batch(self) -> float:
        """Mean requests of a batch."""
        sizes = np.arange(1, self.rounds.most + 1)
        return float(sizes @ (self.taken + self.leaving.sum(axis=1)))

    @cached_property
    def sizes_seen(self) -> Floats:
        """Law (most,) of the batch that serves a request."""
        seen = np.arange(1, self.rounds.most + 1) * (self.taken + self.leaving.sum(axis=1))
        return np.asarray(seen / seen.sum())


def solve_rounds(rounds: Rounds, rate_rps: float, burstiness: float) -> RoundChain:
    """The chain at a rate below the limit; arrivals in geometric groups of the index of dispersion."""
    mean_group = max((1 + burstiness) / 2, 1.0)
    cell_s = rounds.longest_s / (_N_TIMES - 2)
    n = max(_QUEUES * rounds.most, 48) + int(6 * mean_group)
    return RoundChain(rounds=rounds, rate_rps=rate_rps, mean_group=mean_group, cell_s=cell_s, n_waiting=n)
