"""Several replicas on one clock: behind a router, or as pools for prefill and decode with links between."""

from __future__ import annotations

from ._fast_pools import why_pools_stepwise
from .change import CHANGES, Change, check_changes
from .cluster import simulate_cluster, why_on_one_clock, why_reference
from .link import Link
from .measure import measure_cluster
from .member import Member
from .pools import FIRST_TOKENS, PoolRecords, Pools, simulate_pools
from .records import ClusterRecords
from .server import Server, SteppedServer
from .summary import summarize_cluster

__all__ = [
    "CHANGES",
    "FIRST_TOKENS",
    "Change",
    "ClusterRecords",
    "Link",
    "Member",
    "PoolRecords",
    "Pools",
    "Server",
    "SteppedServer",
    "check_changes",
    "measure_cluster",
    "simulate_cluster",
    "simulate_pools",
    "summarize_cluster",
    "why_on_one_clock",
    "why_pools_stepwise",
    "why_reference",
]
