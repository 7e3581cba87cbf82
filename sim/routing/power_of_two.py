"""The better of two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .load import Asked, Worker
from .router import Routing

__all__ = ["PowerOfTwo"]


@dataclass(frozen=True, slots=True)
class PowerOfTwo:
    """Two different replicas drawn at random, and of these the one with fewer requests in flight [1]_.

    Of two equal ones the first that was drawn.

    References
    ----------
    .. [1] Mitzenmacher (2001), "The power of two choices in randomized load balancing", IEEE TPDS 12(10),
       1094-1104.

    Examples
    --------
    >>> PowerOfTwo.name
    'power_of_two'
    """

    name: ClassVar[str] = "power_of_two"

    def begin(self, rng: np.random.Generator) -> Routing:
        """With the numbers of ``rng``."""
        return _Pairs(rng)


class _Pairs:
    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def choose(self, asked: Asked, workers: Sequence[Worker]) -> int:
        n = len(workers)
        if n == 1:
            return 0
        first = int(self._rng.random() * n)
        second = (first + 1 + int(self._rng.random() * (n - 1))) % n
        return first if workers[first].load.n_requests <= workers[second].load.n_requests else second

    def forget(self, index: int) -> None:
        pass
