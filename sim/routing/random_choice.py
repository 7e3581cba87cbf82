"""Any replica, whatever it is doing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .load import Asked, Worker
from .router import Routing

__all__ = ["RandomChoice"]


@dataclass(frozen=True, slots=True)
class RandomChoice:
    """A replica drawn at random, all equally likely: a Poisson stream stays one at every replica.

    Examples
    --------
    >>> RandomChoice().divide(6, 3, np.random.default_rng(0)).tolist()
    [1, 0, 0, 0, 2, 2]
    """

    name: ClassVar[str] = "random"

    def begin(self, rng: np.random.Generator) -> Routing:
        """With the numbers of ``rng``."""
        return _Draws(rng)

    def divide(self, n_requests: int, n_workers: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """The same draws at once."""
        return (rng.random(n_requests) * n_workers).astype(np.int64)


class _Draws:
    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def choose(self, asked: Asked, workers: Sequence[Worker]) -> int:
        return int(self._rng.random() * len(workers))

    def forget(self, index: int) -> None:
        pass
