"""One after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .load import Asked, Worker
from .router import Routing

__all__ = ["RoundRobin"]


@dataclass(frozen=True, slots=True)
class RoundRobin:
    """The replicas in turn; one that takes no requests is passed over.

    Examples
    --------
    >>> RoundRobin().divide(5, 3, np.random.default_rng(0)).tolist()
    [0, 1, 2, 0, 1]
    """

    name: ClassVar[str] = "round_robin"

    def begin(self, rng: np.random.Generator) -> Routing:
        """From the first one."""
        return _Turns()

    def divide(self, n_requests: int, n_workers: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """All replicas in turn."""
        return np.arange(n_requests, dtype=np.int64) % n_workers


class _Turns:
    def __init__(self) -> None:
        self._last = -1

    def choose(self, asked: Asked, workers: Sequence[Worker]) -> int:
        place = next((i for i, worker in enumerate(workers) if worker.index > self._last), 0)
        self._last = workers[place].index
        return place

    def forget(self, index: int) -> None:
        pass
