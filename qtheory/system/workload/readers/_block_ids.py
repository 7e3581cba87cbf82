"""Lists of block ids, one a request, into one array and where each begins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qtheory.system.workload.block_hashes import BlockHashes

from ._numbers import Column, only_digits
from ._table import FaultError

__all__ = ["MOONCAKE_BLOCK_TOKENS", "BlockIds"]

MOONCAKE_BLOCK_TOKENS = 512


class BlockIds:
    """Lists of whole numbers such as ``[0, 14, 15]``.

    Examples
    --------
    >>> ids = BlockIds()
    >>> hashes = ids.finish(ids.take(["[0,1,2]", "[]", "[0,3]"]))
    >>> hashes.ids.tolist(), hashes.offsets.tolist()
    ([0, 1, 2, 0, 3], [0, 3, 3, 5])
    """

    def __init__(self) -> None:
        self._parts: list[Column] = []

    def take(self, texts: Sequence[str]) -> Column:
        """How many ids each row has, or a `FaultError` at the first that is not a list of them."""
        words: list[str] = []
        counts = np.zeros(len(texts), dtype=np.int64)
        for row, text in enumerate(texts):
            inside = text[1:-1]
            ids = inside.split(",") if inside else []
            if text[:1] != "[" or text[-1:] != "]" or (ids and not only_digits(ids)):
                raise FaultError(
                    row, "is not a list of block ids; give whole numbers >= 0 such as [0, 14, 15]"
                )
            counts[row] = len(ids)
            words += ids
        self._parts.append(np.fromiter(map(int, words), np.int64, len(words)))
        return counts

    def finish(self, values: Column) -> BlockHashes:
        """All ids, and from their numbers a row where each row begins."""
        offsets = np.concatenate([[0], np.cumsum(values)]).astype(np.int64)
        ids = np.concatenate(self._parts).astype(np.int64)
        return BlockHashes(ids=ids, offsets=offsets, block_tokens=MOONCAKE_BLOCK_TOKENS)
