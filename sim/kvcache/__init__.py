"""Paged KV memory: numbered blocks, prefix cache, block tables."""

from __future__ import annotations

from .chains import Chains, Contents
from .eviction import EVICTIONS
from .memory import Growth, KvMemory
from .pool import BlockPool
from .radix import Hold, RadixTree

__all__ = ["EVICTIONS", "BlockPool", "Chains", "Contents", "Growth", "Hold", "KvMemory", "RadixTree"]
