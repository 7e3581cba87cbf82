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
        return _free_steps(total_blocks, used_blocks, waiting_blocks, n_running)

    def begin(self, rng: np.random.Generator) -> Routing:
        """Nothing is remembered."""
        return _Freest()


class _Freest:
    def choose(self, asked: Asked, workers: Sequence[Worker]) -> int:
        most, place = -math.inf, 0
        for at, worker in enumerate(workers):
            load = worker.load
            found = _free_steps(load.total_blocks, load.used_blocks, load.waiting_blocks, load.n_running)
            if found > most:
                most, place = found, at
        return place

    def forget(self, index: int) -> None:
        pass


def _free_steps(total_blocks: float, used_blocks: float, waiting_blocks: float, n_running: float) -> float:
    free = total_blocks - used_blocks - waiting_blocks
    n_jobs = n_running or int(waiting_blocks > 0)
    return free / n_jobs if n_jobs else math.inf
