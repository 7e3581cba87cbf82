"""Blocks that are lost in the order in which their contents were last used."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from .pool import BlockPool

__all__ = ["LastUsePool"]


class LastUsePool(BlockPool):
    """A pool in which the age of cached contents counts from their last use, not from their release.

    A prefix is used when it is found, and when it is continued by a full block; all its blocks are as old as
    that, and those behind go before those in front, as the leaves of a tree do before what they hang on [1]_.

    Parameters
    ----------
    n_blocks : int
        Blocks in the pool, >= 1.

    References
    ----------
    .. [1] SGLang, ``mem_cache/radix_cache.py``, July 2026: ``last_access_time`` is set by a match and by an
       insertion, and a finished request without a new page inserts nothing.

    Examples
    --------
    >>> pool = LastUsePool(4)
    >>> pool.take(4)
    [0, 1, 2, 3]
    >>> for block in range(4):
    ...     pool.publish(block, key=block + 1)
    >>> pool.use([0, 1]), pool.use([2, 3])
    (None, None)
    >>> pool.release([3, 2])
    >>> pool.release([1, 0])
    >>> pool.free_order(), pool.take(3)
    ([1, 0, 3, 2], [1, 0, 3])
    """

    def __init__(self, n_blocks: int) -> None:
        super().__init__(n_blocks)
        self._used: dict[int, tuple[int, int]] = {}  # number of the use, and the place backwards
        self._n_uses = 0
        self._offers: list[tuple[int, int, int]] = []  # of free cached blocks; some out of date

    def use(self, blocks: Sequence[int]) -> None:
        """A prefix is found, or goes on: its blocks in order."""
        self._n_uses += 1
        for place, block in enumerate(blocks):
            self._used[block] = self._n_uses, -place

    def free_order(self) -> list[int]:
        """Free blocks, the next to be taken first."""
        cached = sorted(self._back, key=self._age)
        return [block for block in super().free_order() if block not in self._back] + cached

    def take(self, n: int, evicted: list[int] | None = None) -> list[int]:
        """The first ``n`` free blocks, now with one owner each; those that lose a key join ``evicted``."""
        oldest: list[int] = []
        while len(oldest) < n - (self.n_free - len(self._back)) and self._offers:
            *age, block = heappop(self._offers)
            if block in self._back and tuple(age) == self._age(block):
                oldest.append(block)
        for block in reversed(oldest):
            self._back.move_to_end(block, last=False)
        return super().take(n, evicted)

    def release(self, blocks: Sequence[int]) -> None:
        """One owner less for each of ``blocks``, in this order (a table is released from its tail)."""
        super().release(blocks)
        for block in blocks:
            if block in self._back:
                heappush(self._offers, (*self._age(block), block))

    def _age(self, block: int) -> tuple[int, int]:
        return self._used.get(block, (0, 0))
