"""Paged KV memory: numbered blocks, prefix cache, block tables."""

from __future__ import annotations

from .chains import Chains, Contents
from .memory import Growth, KvMemory
from .pool import BlockPool

__all__ = ["BlockPool", "Chains", "Contents", "Growth", "KvMemory"]
