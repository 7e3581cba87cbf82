"""Scheduling policies: frozen values made of an ordering, a composition, a gate, a victim rule."""

from __future__ import annotations

from . import chunked, fcfs, orca, priority, sjf, slo, static  # noqa: F401  (each registers its policy)
from .admission import FirstChunk, FullPrompt, NoEvict
from .composition import Chunked, Mixed, PrefillFirst, PrefillFirstChunked, Static
from .fair_order import LeastServed
from .ordering import Aged, EarliestDeadline, Fcfs, Priority, ShortestOutput
from .pieces import Composition, DynamicOrdering, Gate, Ledger, Ordering, Victim
from .policy import Policy
from .prefix_order import LongestPrefix
from .registry import GATES, VICTIMS, assemble, make_policy, policy_names, register
from .shedding import Shedding, alone_s
from .victim import FewestOutput, LastAdmitted, LowestPriority

__all__ = [
    "GATES",
    "VICTIMS",
    "Aged",
    "Chunked",
    "Composition",
    "DynamicOrdering",
    "EarliestDeadline",
    "Fcfs",
    "FewestOutput",
    "FirstChunk",
    "FullPrompt",
    "Gate",
    "LastAdmitted",
    "LeastServed",
    "Ledger",
    "LongestPrefix",
    "LowestPriority",
    "Mixed",
    "NoEvict",
    "Ordering",
    "Policy",
    "PrefillFirst",
    "PrefillFirstChunked",
    "Priority",
    "Shedding",
    "ShortestOutput",
    "Static",
    "Victim",
    "alone_s",
    "assemble",
    "make_policy",
    "policy_names",
    "register",
]
