"""Hit rates of caches."""

from __future__ import annotations

from .popularity import CacheResult, PopularityCache, zipf
from .working_set import WorkingSetCache, WorkingSetResult, reuse_times, stack_distances

__all__ = [
    "CacheResult",
    "PopularityCache",
    "WorkingSetCache",
    "WorkingSetResult",
    "reuse_times",
    "stack_distances",
    "zipf",
]
