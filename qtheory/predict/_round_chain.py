"""How many wait when a batch is formed, and how long they have waited."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError

from ._phased import Phased
from ._rounds import Rounds

__all__ = ["FULL_AHEAD", "RoundChain", "solve_rounds"]

Floats = NDArray[np.float64]

_N_TIMES = 400
_MOST_BURST = 1_200  # numbers waiting that are listed because of bursts
_MOST_LOST = 5e-3  # of the requests
FULL_AHEAD = 4
"""Full batches ahead of a request that are counted one by one."""

_QUEUES = 3  # numbers waiting that are listed at a load of 1, in largest batches besides one


@dataclass(frozen=True, eq=False, kw_only=True)
class RoundChain:
    """The chain of numbers waiting, and phases of arrivals, at the start of a batch that takes what it may.

    The rows are M/G^[1,b]/1 with a random b [1]_: what waits is taken if it fits, else a batch of the law of
    full ones. Numbers above those listed are geometric with the root of the increments' transform.

    References
    ----------
    .. [1] Bailey (1954), "On queueing processes with bulk service", J. Royal Stat. Soc. B 16, 80-87.
    """

    rounds: Rounds
    rate_rps: float
    arrivals: Phased
    cell_s: float
    n_waiting: int

    @property
    def times_s(self) -> Floats:
        """Grid (t,) of the seconds of a batch."""
        return np.asarray(self.cell_s * np.arange(float(_N_TIMES)))

    @cached_property
    def counts(self) -> Floats:
        """P(k arrive and the phase goes from i to j) (t, p, n_waiting + most + 1, p) in each of the times."""
        return self.arrivals.counts(self.times_s, self.n_waiting + self.rounds.most + 1)

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

    def arrived(self, laws: Floats) -> Floats:
        """P(k arrive in batches of these laws and the phase goes from i to j) (most, p, k, p)."""
        counts = self.counts
        return np.asarray((laws @ counts.reshape(len(counts), -1)).reshape(len(laws), *counts.shape[1:]))

    @cached_property
    def arrived_part(self) -> Floats:
        """P(k arrive in batches that take all who wait and the phase goes from i to j) (most, p, k, p)."""
        return self.arrived(self.part_laws)

    @cached_property
    def arrived_full(self) -> Floats:
        """The same of batches that leave somebody."""
        return self.arrived(self.full_laws)

    def after_idle(self, per_s: float = 0.0) -> Floats:
        """P(q end an idle time together, in phase j) (p, n_waiting, p), each second of it at a discount."""
        k, more = np.arange(self.n_waiting), 1 - 1 / self.arrivals.mean_group
        law = more**k * (1 - more)
        law[-1] += 1 - law.sum()
        return np.asarray(self.arrivals.after_idle(per_s)[:, None, :] * law[:, None])

    def rows(self, part: Floats, full: Floats, idle: Floats, ratio: float = 0.0) -> Floats:
        """What waits at the next start (n_waiting + most, p, n_waiting, p).

        ``part`` and ``full`` (most, p, k, p) are what comes in batches that take all, and in those that leave
        somebody. Who is m beyond the last number counts there, times ``ratio`` to the power m.
        """
        n, most, p = self.n_waiting, self.rounds.most, self.arrivals.n_phases
        found = np.zeros((n + most, p, n, p))
        part = part * self.rounds.room[:, None, None, None]
        full = full * self.rounds.full[:, None, None, None]
        beyond = np.zeros_like(full)
        last = np.zeros_like(full[:, :, 0])
        for k in range(full.shape[2] - 1, -1, -1) if ratio else ():
            last = ratio * (full[:, :, k] + last)
            beyond[:, :, k] = last
        found[:most] = part[:, :, 1 : n + 1] + np.tensordot(part[:, :, 0], idle, axes=1)
        far = ratio ** np.arange(1.0, part.shape[2] - n)
        found[:most, :, -1] += np.einsum("bikj,k->bij", part[:, :, n + 1 :], far)
        least = int(np.flatnonzero(self.rounds.full > 1e-12)[0])
        for left in range(1, n + 1):
            found[left + least : left + most, :, left - 1 :] += full[least:, :, : n - left + 1]
            found[left + least : left + most, :, -1] += beyond[least:, :, n - left + 1]
        return found

    def drift(self, full: Floats, z: float) -> float:
        """Root of the matrix over phases of E[z^(arrivals - batch)] in batches that leave somebody."""
        sizes, k = np.arange(1.0, self.rounds.most + 1), np.arange(float(full.shape[2]))
        matrix = np.tensordot(self.rounds.full * z**-sizes, full.transpose(0, 1, 3, 2) @ z**k, axes=1)
        return float(np.abs(np.linalg.eigvals(matrix)).max())

    @cached_property
    def decay(self) -> float:
        """Ratio of P(q + 1 wait) to P(q wait) for large q.

        It is 1/z with the z > 1 at which the `drift` is 1.
        """

        def surplus(z: float) -> float:
            return self.drift(self.arrived_full, z) - 1

        low, high = 1.0, 1.0 + 1e-4
        while surplus(high) < 0 and high < 3:
            low, high = high, 1 + 1.5 * (high - 1)
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if surplus(middle) < 0 else (low, middle)
        return 1 / high

    @cached_property
    def waiting(self) -> Floats:
        """P(q wait when a batch is formed, in phase i) (n_waiting, p), q = 1, 2, ..."""
        n, most, p = self.n_waiting, self.rounds.most, self.arrivals.n_phases
        rows = self.rows(self.arrived_part, self.arrived_full, self.after_idle())
        beyond = self.decay ** np.arange(1, most + 1)
        rows[n - 1] += np.tensordot(beyond, rows[n:], axes=1)
        system = np.eye(n * p) - rows[:n].reshape(n * p, n * p)
        weights = np.ones((n, p))
        weights[-1] = 1 / (1 - self.decay)
        system[:, 0] = weights.ravel()
        right = np.zeros(n * p)
        right[0] = 1.0
        found = np.linalg.solve(system.T, right).reshape(n, p)
        if found.min() < -1e-6:
            raise ConvergenceError(f"rate_rps={self.rate_rps:g}: no law of the batches; simulate it")
        return np.asarray(found.clip(0.0) / (found.clip(0.0) * weights).sum())

    @cached_property
    def taken(self) -> Floats:
        """P(a batch takes b of all who wait, and starts in phase i) (most, p)."""
        return np.asarray(self.waiting[: self.rounds.most] * self.rounds.room[:, None])

    @cached_property
    def _listed(self) -> Floats:
        """P(q wait when a batch is formed, in phase i) (q, p) for as many q as full batches need."""
        n = max(self.n_waiting, (FULL_AHEAD + 1) * self.rounds.most)
        more = self.decay ** np.arange(1.0, n - self.n_waiting + 1)
        return np.concatenate([self.waiting, more[:, None] * self.waiting[-1]])

    @cached_property
    def left(self) -> Floats:
        """P(a batch takes b of a listed number, leaves l and starts in phase i) (most, left + 1, p)."""
        n = len(self._listed)
        law = np.zeros((self.rounds.most, n + 1, self.arrivals.n_phases))
        for size, share in enumerate(self.rounds.full, 1):
            law[size - 1, 1 : n - size + 1] = self._listed[size:] * share
        return law

    @cached_property
    def left_beyond(self) -> Floats:
        """P(a batch takes b of more than are listed, and starts in phase i) (most, p)."""
        return np.outer(self.rounds.full, self._listed[-1] * self.decay / (1 - self.decay))

    @cached_property
    def leaving(self) -> Floats:
        """The same as `left` with all numbers that are not listed as the last of those that are."""
        law = self.left.copy()
        for size, tail in enumerate(self.left_beyond, 1):
            law[size - 1, len(self._listed) - size] += tail
        return law

    @cached_property
    def own_rate_rps(self) -> float:
        """Requests a second of the chain itself, which differs from the rate by what its grids leave out."""
        part_s, full_s = self.part_laws @ self.times_s, self.full_laws @ self.times_s
        idle_s = np.linalg.solve(-self.arrivals.without, np.ones(self.arrivals.n_phases))
        ends = np.tensordot(self.part_laws, self.counts[:, :, 0], axes=1)  # (most, i, j)
        waits_s = float(np.einsum("bi,bij,j->", self.taken, ends, idle_s))
        busy_s = self.taken.sum(axis=1) @ part_s + self.leaving.sum(axis=(1, 2)) @ full_s
        return self.per_batch / (float(busy_s) + waits_s)

    @property
    def one_more_full(self) -> float:
        """P(another full batch is ahead of a request with many of them ahead): by the geometric law."""
        return float(self.rounds.full @ self.decay ** np.arange(1.0, self.rounds.most + 1))

    @cached_property
    def empty(self) -> float:
        """P(nobody waits at the end of a batch)."""
        by_start = np.tensordot(self.part_laws, self.counts[:, :, 0].sum(axis=2), axes=1)  # (most, p)
        return float((self.taken * by_start).sum())

    @cached_property
    def _sizes(self) -> Floats:
        """Law (most,) of the size of a batch."""
        return np.asarray(self.taken.sum(axis=1) + self.leaving.sum(axis=(1, 2)))

    @cached_property
    def per_batch(self) -> float:
        """Mean requests of a batch."""
        return float(np.arange(1, self.rounds.most + 1) @ self._sizes)

    @cached_property
    def sizes_seen(self) -> Floats:
        """Law (most,) of the batch that serves a request."""
        seen = np.arange(1, self.rounds.most + 1) * self._sizes
        return np.asarray(seen / seen.sum())


def solve_rounds(rounds: Rounds, rate_rps: float, arrivals: Phased) -> RoundChain:
    """The chain at a rate below the limit."""
    cell_s = rounds.longest_s / (_N_TIMES - 2)
    load = rate_rps / rounds.limit_rps
    n = max(int((1 + _QUEUES * load) * rounds.most), 48) + min(int(6 * arrivals.burst), _MOST_BURST)
    chain = RoundChain(rounds=rounds, rate_rps=rate_rps, arrivals=arrivals, cell_s=cell_s, n_waiting=n)
    if abs(chain.own_rate_rps / rate_rps - 1) > _MOST_LOST:
        raise ConvergenceError(
            f"rate_rps={rate_rps:g}: more requests come in one batch than can be listed; simulate it"
        )
    return chain
