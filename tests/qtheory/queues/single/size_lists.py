"""The number in a bounded workload of sizes with few values, from a chain over the lists of sizes present."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

__all__ = ["number_by_lists"]

Floats = NDArray[np.float64]
Sizes = tuple[float, ...]


class _Lists:
    """Lists of sizes behind the one in service, and how they grow during it."""

    def __init__(self, rate: float, sizes: Sizes, probs: Sizes, limit: float, by_wait: bool) -> None:
        self.arrivals = [(size, rate * prob) for size, prob in zip(sizes, probs, strict=True)]
        self.limit, self.by_wait = limit, by_wait
        self.behind: list[Sizes] = [()]
        for known in self.behind:  # grows while it is gone through
            self.behind += [(*known, size) for size, _ in self.arrivals if self.takes(sum(known), size)]
        self.index = {known: i for i, known in enumerate(self.behind)}

    def takes(self, work: float, size: float) -> bool:
        return work + (0.0 if self.by_wait else size) <= self.limit

    def growth(self, left: float) -> Floats:
        """Rates between the lists while so much of the service is left."""
        rates = np.zeros((len(self.behind), len(self.behind)))
        for known, i in self.index.items():
            for size, rate in self.arrivals:
                if self.takes(left + sum(known), size):
                    rates[i, self.index[(*known, size)]] += rate
        return rates - np.diag(rates.sum(axis=1))

    def service(self, length: float) -> tuple[Floats, Floats]:
        """Lists at the end of a service by the list at its start, and mean times with each list in it."""
        n = len(self.behind)
        turns = {
            self.limit - sum(known) - (0.0 if self.by_wait else size)
            for known, (size, _) in itertools.product(self.behind, self.arrivals)
        }
        ends = [length, *sorted((x for x in turns if 0 < x < length), reverse=True), 0.0]
        moved, spent = np.eye(n), np.zeros((n, n))
        for high, low in itertools.pairwise(ends):
            block = np.zeros((2 * n, 2 * n))
            block[:n, :n], block[:n, n:] = self.growth((high + low) / 2), np.eye(n)
            step = expm((high - low) * block)
            spent += moved @ step[:n, n:]
            moved = moved @ step[:n, :n]
        return moved, spent


def number_by_lists(rate: float, sizes: Sizes, probs: Sizes, limit: float, *, by_wait: bool) -> Floats:
    """P(N = n), n = 0, 1, ...: a chain at the starts of services, and the times spent after each."""
    lists = _Lists(rate, sizes, probs, limit, by_wait)
    by_size = {size: lists.service(size) for size in sizes}
    starts = list(itertools.product(sizes, lists.behind))
    at = {start: i for i, start in enumerate(starts)}
    first = {size: r for size, r in lists.arrivals if lists.takes(0.0, size)}
    chain = np.zeros((len(starts), len(starts)))
    idle_s = np.zeros(len(starts))
    for (size, known), i in at.items():
        for later, prob in zip(lists.behind, by_size[size][0][lists.index[known]], strict=True):
            if later:
                chain[i, at[later[0], later[1:]]] += prob
                continue
            idle_s[i] = prob / sum(first.values())
            for alone, r in first.items():
                chain[i, at[alone, ()]] += prob * r / sum(first.values())
    seen = stationary_of_reached(chain)
    time = np.zeros(2 + max(map(len, lists.behind)))
    time[0] = seen @ idle_s
    for (size, known), i in at.items():
        for later, spent in zip(lists.behind, by_size[size][1][lists.index[known]], strict=True):
            time[1 + len(later)] += seen[i] * spent
    return time / time.sum()


def stationary_of_reached(chain: Floats) -> Floats:
    """Stationary law of a chain with states that are left for ever."""
    n = len(chain)
    equations = np.vstack([chain.T - np.eye(n), np.ones(n)])
    return np.linalg.lstsq(equations, np.append(np.zeros(n), 1.0), rcond=None)[0]
