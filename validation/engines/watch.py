"""Which rules of the prefix cache a run of the reference engine reached."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from sim.kvcache import BlockPool, Growth, KvMemory

__all__ = ["CACHE_RULES", "watched"]

CACHE_RULES = (
    "hits",
    "hits free blocks",
    "hits blocks in use",
    "leaves the last token",
    "evicts",
    "keeps two copies",
    "comes back to a prefix",
)
"""Names of what `watched` looks for."""


class _Pool(BlockPool):
    """A pool that notes which of its rules are used."""

    def __init__(self, n_blocks: int, reached: set[str]) -> None:
        super().__init__(n_blocks)
        self._reached = reached

    def take(self, n: int, evicted: list[int] | None = None) -> list[int]:
        lost: list[int] = []
        taken = super().take(n, lost)
        if lost:
            self._reached.add("evicts")
        if evicted is not None:
            evicted += lost
        return taken

    def share(self, blocks: Iterable[int]) -> None:
        blocks = list(blocks)
        self._reached.update(
            "hits blocks in use" if self.refs(block) else "hits free blocks" for block in blocks
        )
        super().share(blocks)

    def publish(self, block: int, *, key: int) -> None:
        if self.match([key]):
            self._reached.add("keeps two copies")
        super().publish(block, key=key)


@contextmanager
def watched() -> Iterator[set[str]]:
    """The members of `CACHE_RULES` that runs within the block reach; grows as they do."""
    reached: set[str] = set()

    class Memory(KvMemory):
        def __init__(self, *, n_blocks: int, **how: Any) -> None:
            super().__init__(n_blocks=n_blocks, **how)
            self.pool = _Pool(n_blocks, reached)
            self._seen: set[Hashable] = set()

        def open(self, owner: Hashable, hit: Sequence[int], n_tokens: int) -> Growth:
            if hit:
                reached.add("comes back to a prefix" if owner in self._seen else "hits")
            self._seen.add(owner)
            return super().open(owner, hit, n_tokens)

        def lookup(self, chain: Sequence[int], known_tokens: int, *, whole: bool = False) -> list[int]:
            found = super().lookup(chain, known_tokens, whole=whole)
            if self.prefix_cache and len(self.pool.match(chain[: len(found) + 1])) > len(found):
                reached.add("leaves the last token")
            return found

    with patch("sim._state.KvMemory", Memory):
        yield reached
