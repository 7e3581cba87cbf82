"""Several servers with phase-type service: how many of the busy servers are in which phase."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from qtheory.laws.phase_type import PhaseType

__all__ = ["PhaseLevels"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class PhaseLevels:
    """Rates among the occupancies of the m phases by n equal servers, n = 0..c.

    An occupancy is (x_1, ..., x_m) with the sum n; the occupancies of one n are listed in one order.
    """

    service: PhaseType
    n_servers: int

    @cached_property
    def _m(self) -> int:
        return len(self.service.start)

    @cached_property
    def _occupancies(self) -> list[list[tuple[int, ...]]]:
        return [_compositions(n, self._m) for n in range(self.n_servers + 1)]

    @cached_property
    def _place(self) -> list[dict[tuple[int, ...], int]]:
        return [{x: i for i, x in enumerate(level)} for level in self._occupancies]

    def size(self, n: int) -> int:
        """Occupancies with n busy servers."""
        return len(self._occupancies[n])

    def join(self, n: int) -> Floats:
        """Probabilities from n to n + 1 busy servers when a service starts."""
        p = np.zeros((self.size(n), self.size(n + 1)))
        for row, x in enumerate(self._occupancies[n]):
            for j, chance in enumerate(self.service.start):
                p[row, self._place[n + 1][_moved(x, None, j)]] += chance
        return p

    def done(self, n: int) -> Floats:
        """Rates from n to n - 1 busy servers when a service ends."""
        rates = np.zeros((self.size(n), self.size(n - 1)))
        for row, x in enumerate(self._occupancies[n]):
            for i, end in enumerate(self.service.exit_rates):
                if x[i] and end > 0:
                    rates[row, self._place[n - 1][_moved(x, i, None)]] += x[i] * end
        return rates

    def inner(self, n: int) -> Floats:
        """Rates among the occupancies of n busy servers without an end; the diagonal makes up for all."""
        rates = np.zeros((self.size(n), self.size(n)))
        generator = self.service.generator
        for row, x in enumerate(self._occupancies[n]):
            for i in range(self._m):
                if not x[i]:
                    continue
                rates[row, row] += x[i] * generator[i, i]
                for j in range(self._m):
                    if j != i and generator[i, j] > 0:
                        rates[row, self._place[n][_moved(x, i, j)]] += x[i] * generator[i, j]
        return rates

    def replaced(self) -> Floats:
        """Rates of ends with all servers busy and somebody waiting: the next service starts at once."""
        return np.asarray(self.done(self.n_servers) @ self.join(self.n_servers - 1), dtype=float)


def _compositions(n: int, m: int) -> list[tuple[int, ...]]:
    """All ways to put n servers into m phases."""
    found = []
    for bars in combinations(range(n + m - 1), m - 1):
        edges = (-1, *bars, n + m - 1)
        found.append(tuple(edges[i + 1] - edges[i] - 1 for i in range(m)))
    return found


def _moved(x: tuple[int, ...], source: int | None, target: int | None) -> tuple[int, ...]:
    y = list(x)
    if source is not None:
        y[source] -= 1
    if target is not None:
        y[target] += 1
    return tuple(y)
