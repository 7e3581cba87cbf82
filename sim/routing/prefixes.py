"""A router's own idea of what is cached where: the prefixes that it has sent to a replica."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from qtheory.basics import checks

__all__ = ["PrefixIndex"]


class PrefixIndex:
    """Keys of the blocks that were sent to one replica; with a limit the least recently sent go first.

    A key stands for its whole prefix, and all prefixes of a key that is here are here too: the longest match
    is found by halving. Of one prompt the last block is forgotten before the first.

    Parameters
    ----------
    max_blocks : int
        Blocks that are remembered at most; 0: all.

    Raises
    ------
    ConfigError
        If the number is below zero.

    Examples
    --------
    >>> index = PrefixIndex(max_blocks=3)
    >>> index.add([1, 2, 3])
    >>> index.matched([1, 2, 9]), index.matched([9])
    (2, 0)
    >>> index.add([1, 7])
    >>> index.matched([1, 2, 3]), index.matched([1, 7])
    (2, 2)
    """

    def __init__(self, *, max_blocks: int = 0) -> None:
        checks.at_least(0, max_blocks=max_blocks)
        self._max = max_blocks
        self._keys: OrderedDict[int, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._keys)

    def matched(self, keys: Sequence[int]) -> int:
        """How many of the first ``keys`` are here."""
        low, high = 0, len(keys)
        while low < high:
            middle = (low + high + 1) // 2
            if keys[middle - 1] in self._keys:
                low = middle
            else:
                high = middle - 1
        return low

    def add(self, keys: Sequence[int]) -> None:
        """Remember a prompt that was sent."""
        if not self._max:
            self._keys.update(dict.fromkeys(keys[self.matched(keys) :]))
            return
        for key in reversed(keys):  # so that a prefix is always younger than what continues it
            self._keys[key] = None
            self._keys.move_to_end(key)
        while len(self._keys) > self._max:
            self._keys.popitem(last=False)
