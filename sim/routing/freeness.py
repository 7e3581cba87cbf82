"""The replica that could go on longest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .load import Asked, Worker
from .router import Routing

__all__ = ["Freeness"]


@dataclass(frozen=True, slots=True)
class Freeness:
    """The replica with the most free blocks for each running request [1]_.

    Blocks that the first waiting request needs count as used. A replica where nothing runs and nothing waits
    for room is free without end.

    References
    ----------
    .. [1] Sun et al. (2024), "Llumnix: dynamic scheduling for large language model serving", OSDI 24.

    Examples
    --------
    >>> Freeness().free_steps(total_blocks=100, used_blocks=60, waiting_blocks=20, n_running=5)
    4.0
    >>> Freeness().free_steps(total_blocks=100, used_blocks=0, waiting_blocks=0, n_running=0)
    inf
    """

    name: ClassVar[str] = "freeness"

    def free_steps(
        self, *, total_blocks: float, used_blocks: float, waiting_blocks: float, n_running: float
    ) -> float:
        """Free blocks a running request (a waiting one if none runs): so many each can still take."""
        free = total_blocks - used_blocks - waiting_blocks
        n_jobs = n_running or int(waiting_blocks > 0)
        return free / n_jobs if n_jobs else math.inf

    def begin(self, rng: np.random.Generator) -> Routing:
        """Nothing is remembered."""
        return _Freest(self)


class _Freest:
    def __init__(self, router: Freeness) -> None:
        self._router = router

    def choose(self, asked: Asked, workers: Sequence[Worker]) -> int:
        free_steps, found = self._router.free_steps, list[float]()
        for worker in workers:
            load = worker.load
            found.append(
                free_steps(
                    total_blocks=load.total_blocks,
                    used_blocks=load.used_blocks,
                    waiting_blocks=load.waiting_blocks,
                    n_running=load.n_running,
                )
            )
        return found.index(max(found))

    def forget(self, index: int) -> None:
        pass
