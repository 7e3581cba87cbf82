"""Which leaf of a radix tree goes first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

__all__ = ["EVICTIONS", "Leaf"]


class Leaf(Protocol):
    """What is known of a leaf, as moments on the clock of its tree and counts."""

    @property
    def used(self) -> int:
        """When it was last inserted or matched."""
        ...

    @property
    def made(self) -> int:
        """When it was made; of an edge that was split the front part is new."""
        ...

    @property
    def n_inserts(self) -> int:
        """How often an insertion went through it."""
        ...

    @property
    def priority(self) -> int:
        """The largest priority of those insertions."""
        ...


_PROTECTED_INSERTS = 2  # from this many on a leaf of the segmented order is in the better segment

EVICTIONS: dict[str, Callable[[Leaf], tuple[int, int]]] = {
    "lru": lambda leaf: (leaf.used, 0),
    "mru": lambda leaf: (-leaf.used, 0),
    "fifo": lambda leaf: (leaf.made, leaf.used),
    "filo": lambda leaf: (-leaf.made, leaf.used),
    "lfu": lambda leaf: (leaf.n_inserts, leaf.used),
    "slru": lambda leaf: (int(leaf.n_inserts >= _PROTECTED_INSERTS), leaf.used),
    "priority": lambda leaf: (leaf.priority, leaf.used),
}
"""Orders of eviction by name, smallest key first, as in SGLang, ``mem_cache/evict_policy.py``, July 2026."""
