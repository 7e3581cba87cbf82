"""The shortest queue, counted in tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .load import Asked, Worker
from .router import Routing

__all__ = ["LeastTokens"]


@dataclass(frozen=True, slots=True)
class LeastTokens:
    """The replica whose requests in flight have the fewest known tokens, the first of several.

    Examples
    --------
    >>> LeastTokens.name
    'least_tokens'
    """

    name: ClassVar[str] = "least_tokens"

    def begin(self, rng: np.random.Generator) -> Routing:
        """Nothing is remembered."""
        return _Lightest()


class _Lightest:
    def choose(self, asked: Asked, workers: Sequence[Worker]) -> int:
        loads = [worker.load.n_tokens for worker in workers]
        return loads.index(min(loads))

    def forget(self, index: int) -> None:
        pass
