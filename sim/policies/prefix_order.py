"""Order by cached prefix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, TypeVar

from qtheory.basics import checks
from sim.job import JobView
from sim.plan import View

from .pieces import Ledger

__all__ = ["LongestPrefix"]

J = TypeVar("J", bound=JobView)


@dataclass(frozen=True, slots=True, kw_only=True)
class LongestPrefix:
    """Longest cached prefix first; cold jobs that share a prefix with an earlier one go last [1]_.

    Parameters
    ----------
    sharing_tokens : int
        Jobs with at most this much cached are looked at for sharing, and this many shared tokens make the
        later one wait, >= 0.
    max_queue : int
        Above this many waiting jobs the order is by arrival, >= 0.

    Raises
    ------
    ConfigError
        If a number is negative.

    References
    ----------
    .. [1] SGLang, ``managers/schedule_policy.py``, policy lpm, July 2026.

    Examples
    --------
    >>> LongestPrefix().max_queue
    128
    """

    sharing_tokens: int = 32
    max_queue: int = 128

    def __post_init__(self) -> None:
        checks.at_least(0, sharing_tokens=self.sharing_tokens, max_queue=self.max_queue)

    def arrange(self, waiting: Sequence[J], view: View, ledger: Any) -> Iterator[J]:
        """By tokens in the cache now."""
        if not view.has_prefix_cache or len(waiting) > self.max_queue:
            yield from waiting
            return
        cached = {job.position: view.cached_tokens(job) for job in waiting}
        last, seen = set(), set[int]()
        for job in waiting:
            if cached[job.position] > self.sharing_tokens:
                continue
            keys = view.block_keys(job)
            n_shared = sum(1 for _ in takewhile(seen.__contains__, keys))
            if n_shared * view.block_tokens >= max(self.sharing_tokens, 1):
                last.add(job.position)
            else:
                seen.update(keys)
        yield from sorted(waiting, key=lambda job: (job.position in last, -cached[job.position]))

    def open_ledger(self) -> Ledger | None:
        """None: the memory is all it needs."""
        return None
