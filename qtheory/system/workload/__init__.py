"""Who asks for what and when: requests, arrivals, lengths, profiles, readers of traces."""

from __future__ import annotations

from .arrivals import Arrivals, ConstantArrivals, GammaArrivals, OpenArrivals, PoissonArrivals
from .from_scenario import workload_of
from .lengths import LawLengths, Lengths, PairLengths
from .loops import ClosedLoop, Replay
from .parse import ARRIVAL_FORMS, parse_arrivals
from .profiles import DEFAULT_PROFILE, Profile, find_profile, profile_names
from .readers import read_lengths, read_requests
from .request import Request, Requests
from .workload import Workload

__all__ = [
    "ARRIVAL_FORMS",
    "DEFAULT_PROFILE",
    "Arrivals",
    "ClosedLoop",
    "ConstantArrivals",
    "GammaArrivals",
    "LawLengths",
    "Lengths",
    "OpenArrivals",
    "PairLengths",
    "PoissonArrivals",
    "Profile",
    "Replay",
    "Request",
    "Requests",
    "Workload",
    "find_profile",
    "parse_arrivals",
    "profile_names",
    "read_lengths",
    "read_requests",
    "workload_of",
]
