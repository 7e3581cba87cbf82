"""Blocks to compute and blocks in use, weighed against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from qtheory.basics import checks

from .load import Asked, Worker
from .router import Routing

__all__ = ["KvCost"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KvCost:
    """The replica with the smallest sum of weighted blocks to compute and blocks in use [1]_.

    With a temperature a replica is drawn instead, with weights exp(-cost / (temperature x spread)), where the
    spread is that between the largest and the smallest cost. Weight 0 makes it a router by load alone. In a
    cluster what waiting requests need counts as in use.

    Parameters
    ----------
    overlap_weight : float
        Of the blocks that must be computed, >= 0.
    temperature : float
        >= 0; 0: always the smallest, the first of several.

    Raises
    ------
    ConfigError
        If a number is below zero.

    References
    ----------
    .. [1] NVIDIA Dynamo, KV router: cost = overlap weight x prefill blocks + decode blocks.

    Examples
    --------
    >>> KvCost().costs(request_blocks=12, overlap_blocks=[3, 9, 0], decode_blocks=[6, 14, 1])
    [15.0, 17.0, 13.0]
    >>> [round(share, 3) for share in KvCost(temperature=1.0).shares([0.0, 5.0, 10.0])]
    [0.506, 0.307, 0.186]
    """

    name: ClassVar[str] = "kv_cost"
    overlap_weight: float = 1.0
    temperature: float = 0.0

    def __post_init__(self) -> None:
        checks.non_negative(overlap_weight=self.overlap_weight, temperature=self.temperature)

    def costs(
        self, *, request_blocks: float, overlap_blocks: Sequence[float], decode_blocks: Sequence[float]
    ) -> list[float]:
        """Cost of each replica, blocks."""
        weight = self.overlap_weight
        return [
            weight * (request_blocks - overlap) + in_use
            for overlap, in_use in zip(overlap_blocks, decode_blocks, strict=True)
        ]

    def shares(self, costs: Sequence[float]) -> list[float]:
        """Probability of each replica."""
        least, most = min(costs), max(costs)
        if not self.temperature:
            first = list(costs).index(least)
            return [float(place == first) for place in range(len(costs))]
        spread = (most - least) or 1.0
        weights = [float(np.exp((least - cost) / spread / self.temperature)) for cost in costs]
        return [weight / sum(weights) for weight in weights]

    def begin(self, rng: np.random.Generator) -> Routing:
        """With the numbers of ``rng`` if there is a temperature."""
        return _Costs(self, rng)


class _Costs:
    def __init__(self, router: KvCost, rng: np.random.Generator) -> None:
        self._router, self._rng = router, rng

    def choose(self, asked: Asked, workers: Sequence[Worker]) -> int:
        if asked.may_be_cached or self._router.temperature:
            return self._weigh(asked, workers)
        in_use = [(load := worker.load).least_blocks + load.wanted_blocks for worker in workers]
        while True:  # all must compute the same: only where the fewest may be is looked at in full
            place = in_use.index(min(in_use))
            load = workers[place].load
            found = load.used_blocks + load.wanted_blocks
            if found == in_use[place]:
                return place
            in_use[place] = found

    def _weigh(self, asked: Asked, workers: Sequence[Worker]) -> int:
        size = asked.block_tokens
        loads = [worker.load for worker in workers]
        costs = self._router.costs(
            request_blocks=-(-asked.prompt_tokens // size),
            overlap_blocks=[worker.cached_tokens(asked) // size for worker in workers],
            decode_blocks=[load.used_blocks + load.wanted_blocks for load in loads],
        )
        if not self._router.temperature:
            return costs.index(min(costs))
        ends = np.cumsum(self._router.shares(costs))
        return min(int(np.searchsorted(ends, self._rng.random(), side="right")), len(costs) - 1)

    def forget(self, index: int) -> None:
        pass
