"""Numbered blocks of KV memory: references, the free order that is the eviction order, cached contents."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from qtheory.basics import checks

__all__ = ["BlockPool"]


class BlockPool:
    """Blocks 0 .. n-1, initially free in that order.

    A block is in the free order if and only if nobody refers to it. A free block that has a key is cached: it
    counts as free, can still be hit, and loses its key when it is taken. On release, blocks without a key go
    to the front of the free order and blocks with one to the back, in the order in which they are released.
    So those that nobody has used yet stay together in the middle, and a number stands for all of them: the
    pool takes memory for the blocks in use alone.

    Parameters
    ----------
    n_blocks : int
        Blocks in the pool, >= 1.

    Raises
    ------
    ConfigError
        If ``n_blocks`` is not a whole number above zero.

    Examples
    --------
    >>> pool = BlockPool(5)
    >>> pool.take(2), pool.n_free
    ([0, 1], 3)
    >>> pool.publish(0, key=7)
    >>> pool.release([1, 0])
    >>> pool.free_order(), pool.match([7, 8])
    ([1, 2, 3, 4, 0], [0])
    """

    def __init__(self, n_blocks: int) -> None:
        checks.integer(n_blocks=n_blocks)
        self.n_blocks = n_blocks
        self._front: OrderedDict[int, None] = OrderedDict()  # free, and returned without a key
        self._unused = 0  # from this number on no block was ever taken
        self._back: OrderedDict[int, None] = OrderedDict()  # free, and returned with a key
        self._refs: dict[int, int] = {}
        self._key_of: dict[int, int] = {}
        self._holders: dict[int, dict[int, None]] = {}  # key -> its copies, oldest first

    @property
    def n_free(self) -> int:
        """Blocks that nobody refers to, cached ones included."""
        return len(self._front) + self.n_blocks - self._unused + len(self._back)

    def refs(self, block: int) -> int:
        """How many owners ``block`` has."""
        return self._refs.get(block, 0)

    def all_refs(self) -> dict[int, int]:
        """Owners of every block that has one."""
        return dict(sorted(self._refs.items()))

    def free_order(self) -> list[int]:
        """Free blocks, the next to be taken first."""
        return [*self._front, *range(self._unused, self.n_blocks), *self._back]

    def match(self, keys: Iterable[int]) -> list[int]:
        """Blocks that hold the longest prefix of ``keys``; of several copies the one published first."""
        found = []
        for key in keys:
            copies = self._holders.get(key)
            if not copies:
                break
            found.append(next(iter(copies)))
        return found

    def take(self, n: int, evicted: list[int] | None = None) -> list[int]:
        """The first ``n`` free blocks, now with one owner each; those that lose a key join ``evicted``."""
        taken = [self._front.popitem(last=False)[0] for _ in range(min(n, len(self._front)))]
        fresh = range(self._unused, min(self._unused + n - len(taken), self.n_blocks))
        self._unused += len(fresh)
        taken += fresh
        taken += [self._back.popitem(last=False)[0] for _ in range(n - len(taken))]
        for block in taken:
            self._refs[block] = 1
            if block in self._key_of:
                self._forget(block)
                if evicted is not None:
                    evicted.append(block)
        return taken

    def share(self, blocks: Iterable[int]) -> None:
        """One more owner for each of ``blocks``; free ones leave the free order and keep their key."""
        for block in blocks:
            if block not in self._refs:
                self._leave_free_order(block)
            self._refs[block] = self.refs(block) + 1

    def release(self, blocks: Sequence[int]) -> None:
        """One owner less for each of ``blocks``, in this order (a table is released from its tail)."""
        front = []
        for block in blocks:
            self._refs[block] -= 1
            if self._refs[block]:
                continue
            del self._refs[block]
            if block in self._key_of:
                self._back[block] = None
            else:
                front.append(block)
        for block in reversed(front):
            self._front[block] = None
            self._front.move_to_end(block, last=False)

    def _leave_free_order(self, block: int) -> None:
        if block >= self._unused:  # the ones before it keep their place, behind what came back
            self._front.update(dict.fromkeys(range(self._unused, block + 1)))
            self._unused = block + 1
        del (self._front if block in self._front else self._back)[block]

    def use(self, blocks: Sequence[int]) -> None:
        """A prefix is found, or goes on: nothing in this order hangs on it."""

    def publish(self, block: int, *, key: int) -> None:
        """Let ``block`` be found under ``key``; copies under the same key stay side by side."""
        self._key_of[block] = key
        self._holders.setdefault(key, {})[block] = None

    def reset(self) -> bool:
        """Forget all keys; refused (False) while a block has an owner."""
        if self.n_free < self.n_blocks:
            return False
        self._key_of.clear()
        self._holders.clear()
        return True

    def _forget(self, block: int) -> None:
        key = self._key_of.pop(block)
        copies = self._holders[key]
        del copies[block]
        if not copies:
            del self._holders[key]
