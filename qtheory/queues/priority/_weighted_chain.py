"""Sharing by weights as a Markov chain of the numbers of each class: laws of numbers and responses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError
from qtheory.numerics.clock import ClockedLaw, count_alive

__all__ = ["WeightedChain"]

Floats = NDArray[np.float64]

_MOST_STATES = 20_000
_FIRST = 24
_CHECK = 1e-9
_LAST = 1e-12  # share of the time at the most customers that are listed


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightedChain:
    """Poisson arrivals, exponential services, shares by weight; ``mean_number`` is known beforehand."""

    rate_rps: Floats  # (k,)
    service_rate_rps: Floats  # (k,)
    weight: Floats  # (k,)
    mean_number: float

    @cached_property
    def _solved(self) -> tuple[Floats, Floats]:
        """States (m, k) and their probabilities, with as many customers as count."""
        most = _FIRST
        while True:
            k = len(self.weight)
            if math.comb(most + k, k) > _MOST_STATES:
                raise ConvergenceError(
                    f"laws under sharing by weights: more than {_MOST_STATES:,} states at this load; "
                    "means are known, and laws at a lower rate"
                )
            states = _states(most, k)
            pi = self._stationary(states)
            total = states.sum(axis=1)
            off = abs(float(pi @ total) / self.mean_number - 1.0)
            if off < _CHECK and float(pi[total == most].sum()) < _LAST:
                return states, pi
            most = int(1.4 * most) + 1

    def _moves(self, states: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
        """From, to and rate of every transition that stays among the states, without a tagged customer."""
        return self._moves_beside(states, 0.0)

    def _moves_beside(self, states: Floats, own: float) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
        index = {tuple(row): i for i, row in enumerate(states.astype(int).tolist())}
        whole = states @ self.weight + own
        start, end, rate = [], [], []
        for i, row in enumerate(states.astype(int).tolist()):
            for j, lam in enumerate(self.rate_rps.tolist()):
                up = index.get((*row[:j], row[j] + 1, *row[j + 1 :]))
                if up is not None:
                    start.append(i)
                    end.append(up)
                    rate.append(lam)
                if row[j]:
                    start.append(i)
                    end.append(index[(*row[:j], row[j] - 1, *row[j + 1 :])])
                    rate.append(float(self.service_rate_rps[j] * self.weight[j] * row[j] / whole[i]))
        return np.array(start), np.array(end), np.array(rate)

    def _stationary(self, states: Floats) -> Floats:
        from scipy.sparse import csc_array  # slow to import, so only here
        from scipy.sparse.linalg import spsolve

        start, end, rate = self._moves(states)
        n = len(states)
        out = np.bincount(start, rate, n)
        inside = (start > 0) & (end > 0)  # weights beside that of the empty system, which is 1
        rows = np.append(end[inside], np.arange(1, n)) - 1
        columns = np.append(start[inside], np.arange(1, n)) - 1
        matrix = csc_array((np.append(-rate[inside], out[1:]), (rows, columns)), shape=(n - 1, n - 1))
        right = np.zeros(n - 1)
        np.add.at(right, end[start == 0] - 1, rate[start == 0])
        found = np.append(1.0, np.maximum(spsolve(matrix, right), 0.0))
        return np.asarray(found / found.sum())

    def number_pmf(self, k: int | None) -> Floats:
        """P(n present) of class k, or of all, n = 0, 1, ... as far as it counts."""
        states, pi = self._solved
        count = states.sum(axis=1) if k is None else states[:, k]
        return np.asarray(np.bincount(count.astype(int), pi), dtype=float)

    def response(self, k: int) -> ClockedLaw:
        """Law of the response of class k: the chain of the others beside one customer until it leaves."""
        from scipy.sparse import csr_array  # slow to import, so only here

        states, pi = self._solved
        n, own = len(states), float(self.weight[k])
        start, end, rate = self._moves_beside(states, own)
        leave = self.service_rate_rps[k] * own / (states @ self.weight + own)
        clock = 1.02 * float((np.bincount(start, rate, n) + leave).max())
        stay = 1.0 - (np.bincount(start, rate, n) + leave) / clock
        every = np.arange(n)
        step = csr_array(
            (np.append(rate / clock, stay), (np.append(end, every), np.append(start, every))), shape=(n, n)
        )
        return count_alive(pi, lambda p: step @ p, lambda p: float(p.sum()), clock_per_s=clock)


def _states(most: int, k: int) -> Floats:
    """All vectors of k whole numbers with a sum of at most ``most``, that of zeros first."""
    bars = np.array(list(combinations(range(most + k), k)))
    counts = np.diff(np.hstack([np.full((len(bars), 1), -1), bars]), axis=1) - 1
    order = np.argsort(counts.sum(axis=1), kind="stable")
    return np.asarray(counts[order], dtype=float)
