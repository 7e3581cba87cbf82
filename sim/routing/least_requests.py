"""Join the shortest queue, counted in requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .load import Asked, Worker
from .router import Routing

__all__ = ["LeastRequests"]


@dataclass(frozen=True, slots=True)
class LeastRequests:
    """The replica with the fewest requests in flight, the first of several.

    Request counts do not see memory that is full of long contexts; with old reports all requests of an
    interval go to the same replica [1]_.

    References
    ----------
    .. [1] Mitzenmacher (2000), "How useful is old information?", IEEE TPDS 11(1), 6-20.

    Examples
    --------
    >>> LeastRequests.name
    'least_requests'
    """

    name: ClassVar[str] = "least_requests"

    def begin(self, rng: np.random.Generator) -> Routing:
        """Nothing is remembered."""
        return _Shortest()


class _Shortest:
    def choose(self, asked: Asked, workers: Sequence[Worker]) -> int:
        loads = [worker.load.n_requests for worker in workers]
        return loads.index(min(loads))

    def forget(self, index: int) -> None:
        pass
