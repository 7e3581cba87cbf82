"""Which blocks of prompts are alike: ids, request by request."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

__all__ = ["BlockHashes"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockHashes:
    """Ids of the blocks of each prompt, in order; equal ids are equal tokens with equal ones before them.

    Parameters
    ----------
    ids : array of int
        Shape (m,): those of the first request, then those of the second, and so on.
    offsets : array of int
        Shape (n+1,): request i has ``ids[offsets[i]:offsets[i+1]]``; begins with 0, ends with m.
    block_tokens : int
        Tokens of a block, >= 1 (default 512, as in Mooncake traces); the last of a prompt may have fewer.

    Raises
    ------
    ConfigError
        If the offsets do not divide the ids or the block size is out of range.

    Examples
    --------
    >>> hashes = BlockHashes(ids=[0, 1, 2, 0, 1], offsets=[0, 3, 5], block_tokens=512)
    >>> len(hashes), hashes.row(1).tolist(), hashes[:1].ids.tolist()
    (2, [0, 1], [0, 1, 2])
    """

    ids: Ints
    offsets: Ints
    block_tokens: int = 512

    def __post_init__(self) -> None:
        checks.integer(block_tokens=self.block_tokens)
        for name in ("ids", "offsets"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.int64))
        ends = self.offsets[[0, -1]].tolist() if self.offsets.ndim == 1 and len(self.offsets) else None
        if self.ids.ndim != 1 or ends != [0, len(self.ids)] or np.any(np.diff(self.offsets) < 0):
            raise ConfigError(f"offsets: must rise from 0 to {self.ids.size}, the number of ids")

    def __len__(self) -> int:
        """Number of requests."""
        return len(self.offsets) - 1

    def row(self, index: int) -> Ints:
        """Ids of the request at ``index``, from 0."""
        if not 0 <= index < len(self):
            raise ConfigError(f"index: {index} must be in 0 .. {len(self) - 1}")
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def __getitem__(self, rows: slice) -> BlockHashes:
        """Those of some requests that follow one another."""
        start, stop, step = rows.indices(len(self))
        if step != 1:
            raise ConfigError(f"rows: step {step} must be 1")
        offsets = self.offsets[start : max(start, stop) + 1]
        ids = self.ids[offsets[0] : offsets[-1]]
        return BlockHashes(ids=ids, offsets=offsets - offsets[0], block_tokens=self.block_tokens)
