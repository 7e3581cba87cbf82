"""Follow the prefix as long as the loads are balanced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from qtheory.basics import checks

from .load import Asked, Worker
from .prefixes import PrefixIndex
from .router import Routing

__all__ = ["CacheAware"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheAware:
    """The replica that was sent the longest prefix of the prompt, unless the loads have come apart [1]_.

    If the largest and the smallest number of requests in flight differ by more than
    ``balance_abs_threshold``, and by more than the factor ``balance_rel_threshold``, the least loaded one.
    Else the best match, if it covers more than ``cache_threshold`` of the prompt, else the least loaded one.
    What is cached where is the router's own idea: every prompt that it sent.

    Parameters
    ----------
    cache_threshold : float
        Share of the prompt, >= 0.
    balance_abs_threshold, balance_rel_threshold : float
        Requests, and a factor, >= 0.
    max_blocks : int
        Blocks that are remembered of each replica at most; 0: all.

    Raises
    ------
    ConfigError
        If a number is below zero.

    References
    ----------
    .. [1] SGLang, router crate, policy ``cache_aware``, July 2026.

    Examples
    --------
    >>> CacheAware().decide(loads=[40, 7], matched_tokens=[100, 0], prompt_tokens=100)
    1
    >>> CacheAware().decide(loads=[20, 14], matched_tokens=[100, 0], prompt_tokens=100)
    0
    """

    name: ClassVar[str] = "cache_aware"
    cache_threshold: float = 0.5
    balance_abs_threshold: float = 32
    balance_rel_threshold: float = 1.1
    max_blocks: int = 0

    def __post_init__(self) -> None:
        checks.non_negative(
            cache_threshold=self.cache_threshold,
            balance_abs_threshold=self.balance_abs_threshold,
            balance_rel_threshold=self.balance_rel_threshold,
        )
        checks.at_least(0, max_blocks=self.max_blocks)

    def decide(self, *, loads: Sequence[float], matched_tokens: Sequence[int], prompt_tokens: int) -> int:
        """Place of the replica, from the requests in flight and the match of each."""
        least, most = min(loads), max(loads)
        apart = most - least > self.balance_abs_threshold and most > self.balance_rel_threshold * least
        best = max(matched_tokens)
        if not apart and best / prompt_tokens > self.cache_threshold:
            return list(matched_tokens).index(best)
        return list(loads).index(least)

    def begin(self, rng: np.random.Generator) -> Routing:
        """With empty trees."""
        return _Trees(self)


class _Trees:
    def __init__(self, router: CacheAware) -> None:
        self._router = router
        self._sent: dict[int, PrefixIndex] = {}

    def choose(self, asked: Asked, workers: Sequence[Worker]) -> int:
        keys = asked.keys if self._router.max_blocks else asked.shared_keys
        loads = [worker.load.n_requests for worker in workers]
        if not keys:  # nobody has, or will have, anything of it
            return loads.index(min(loads))
        sent = [self._sent_to(worker.index) for worker in workers]
        place = self._router.decide(
            loads=loads,
            matched_tokens=[index.matched(keys) * asked.block_tokens for index in sent],
            prompt_tokens=asked.prompt_tokens,
        )
        sent[place].add(keys)
        return place

    def _sent_to(self, index: int) -> PrefixIndex:
        found = self._sent.get(index)
        if found is None:
            found = self._sent[index] = PrefixIndex(max_blocks=self._router.max_blocks)
        return found

    def forget(self, index: int) -> None:
        self._sent.pop(index, None)
