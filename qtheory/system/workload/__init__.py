"""Who asks for what and when: requests, arrivals, lengths, profiles, readers of traces."""

from __future__ import annotations

from .arrivals import Arrivals, ConstantArrivals, GammaArrivals, OpenArrivals, PoissonArrivals
from .block_hashes import BlockHashes
from .conversations import Conversations
from .day import DayArrivals
from .from_scenario import workload_of
from .lengths import LawLengths, Lengths, PairLengths
from .loops import ClosedLoop, Replay
from .mmpp import MmppArrivals
from .modulated import ModulatedArrivals
from .parse import ARRIVAL_FORMS, parse_arrivals
from .prefixes import SharedPrefix
from .profiles import DEFAULT_PROFILE, Profile, find_profile, profile_names
from .rate_profile import ProfileArrivals
from .readers import read_length_laws, read_lengths, read_rates, read_requests, spread_ticks
from .request import Request, Requests
from .structure import Structure
from .structure_parse import STRUCTURE_FORMS, parse_conversations, parse_prefixes, parse_tenants
from .tenants import Tenant
from .text_runs import TextRuns
from .workload import Workload

__all__ = [
    "ARRIVAL_FORMS",
    "DEFAULT_PROFILE",
    "STRUCTURE_FORMS",
    "Arrivals",
    "BlockHashes",
    "ClosedLoop",
    "ConstantArrivals",
    "Conversations",
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
    "SharedPrefix",
    "Structure",
    "Tenant",
    "TextRuns",
    "Workload",
    "find_profile",
    "parse_arrivals",
    "parse_conversations",
    "parse_prefixes",
    "parse_tenants",
    "profile_names",
    "read_length_laws",
    "read_lengths",
    "read_rates",
    "read_requests",
    "spread_ticks",
    "workload_of",
]
