"""Networks of queues: open, closed, with classes, and fork-join."""

from __future__ import annotations

from .closed import ClosedNetwork, ClosedNetworkResult
from .fork_join import ForkJoin, ForkJoinResult
from .mva import ClassNetwork, ClassNetworkResult, load_dependent_mva
from .open_jackson import JacksonResult, OpenJackson
from .stations import DelayStation, RateStation, ServerStation, Station, StepStation

__all__ = [
    "ClassNetwork",
    "ClassNetworkResult",
    "ClosedNetwork",
    "ClosedNetworkResult",
    "DelayStation",
    "ForkJoin",
    "ForkJoinResult",
    "JacksonResult",
    "OpenJackson",
    "RateStation",
    "ServerStation",
    "Station",
    "StepStation",
    "load_dependent_mva",
]
