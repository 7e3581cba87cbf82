"""Who asks for what and when: requests, arrivals, lengths, profiles, readers of traces."""

from __future__ import annotations

from .arrivals import Arrivals, ConstantArrivals, GammaArrivals, OpenArrivals, PoissonArrivals
from .block_hashes import BlockHashes
from .day import DayArrivals
from .from_scenario import workload_of
from .lengths import LawLengths, Lengths, PairLengths
from .loops import ClosedLoop, Replay
from .mmpp import MmppArrivals
from .modulated import ModulatedArrivals
from .parse import ARRIVAL_FORMS, parse_arrivals
from .profiles import DEFAULT_PROFILE, Profile, find_profile, profile_names
from .rate_profile import ProfileArrivals
from .readers import read_length_laws, read_lengths, read_rates, read_requests, spread_ticks
from .request import Request, Requests
from .workload import Workload

__all__ = [
    "ARRIVAL_FORMS",
    "DEFAULT_PROFILE",
    "Arrivals",
    "BlockHashes",
    "ClosedLoop",
    "ConstantArrivals",
    "DayArrivals",
    "GammaArrivals",
    "LawLengths",
    "Lengths",
    "MmppArrivals",
    "ModulatedArrivals",
    "OpenArrivals",
    "PairLengths",
    "PoissonArrivals",
    "Profile",
    "ProfileArrivals",
    "Replay",
    "Request",
    "Requests",
    "Workload",
    "find_profile",
    "parse_arrivals",
    "profile_names",
    "read_length_laws",
    "read_lengths",
    "read_rates",
    "read_requests",
    "spread_ticks",
    "workload_of",
]
