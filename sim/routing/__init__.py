"""Routers: which replica a request goes to; frozen values, with what they remember kept apart."""

from __future__ import annotations

from .cache_aware import CacheAware
from .exploit_explore import Candidate, Decision, ExploitExplore
from .freeness import Freeness
from .kv_cost import KvCost
from .least_requests import LeastRequests
from .least_tokens import LeastTokens
from .load import AnyLoad, Asked, Load, Worker
from .power_of_two import PowerOfTwo
from .prefixes import PrefixIndex
from .random_choice import RandomChoice
from .registry import make_router
from .round_robin import RoundRobin
from .router import BlindRouter, Router, Routing

__all__ = [
    "AnyLoad",
    "Asked",
    "BlindRouter",
    "CacheAware",
    "Candidate",
    "Decision",
    "ExploitExplore",
    "Freeness",
    "KvCost",
    "LeastRequests",
    "LeastTokens",
    "Load",
    "PowerOfTwo",
    "PrefixIndex",
    "RandomChoice",
    "RoundRobin",
    "Router",
    "Routing",
    "Worker",
    "make_router",
]
