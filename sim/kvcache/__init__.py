"""Paged KV memory: numbered blocks, prefix cache, block tables."""

from __future__ import annotations

from .chains import Chains, Contents
from .eviction import EVICTIONS
from .memory import LOST_FIRST, Growth, KvMemory
from .pool import BlockPool
from .radix import Hold, RadixTree
from .used_pool import LastUsePool

__all__ = [
    "EVICTIONS",
    "LOST_FIRST",
    "BlockPool",
    "Chains",
    "Contents",
    "Growth",
    "Hold",
    "KvMemory",
    "LastUsePool",
    "RadixTree",
]
