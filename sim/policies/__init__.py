"""Scheduling policies: frozen values made of an ordering, a composition, a gate, a victim rule."""

from __future__ import annotations

from . import (  # noqa: F401  (each registers its policy)
    cache_aware,
    chunked,
    disaggregated,
    fair,
    fcfs,
    lifo,
    orca,
    priority,
    sarathi,
    sglang,
    sjf,
    slo,
    static,
    trtllm,
    vllm,
    vllm_v0,
)
from .admission import FirstChunk, FullPrompt, NoEvict
from .composition import Chunked, Mixed, PrefillFirst, PrefillFirstChunked, Static
from .expected import MOST_TOKENS, Expected
from .fair_order import LeastServed
from .joining_order import Joining
from .least_slack import LeastSlack
from .ordering import (
    Aged,
    EarliestDeadline,
    Fcfs,
    LastCome,
    LongestOutput,
    Priority,
    Ranked,
    ShortestOutput,
)
from .overtaken import Unskipped
from .own import own_policy, policy_of, watched
from .pieces import (
    Account,
    Composition,
    DynamicOrdering,
    ExpectingGate,
    Gate,
    JudgingAccount,
    Ledger,
    Ordering,
    Victim,
)
from .policy import Policy
from .prefix_order import DepthFirst, LongestPrefix
from .registry import (
    GATES,
    VICTIMS,
    assemble,
    make_policy,
    policy_meaning,
    policy_names,
    register,
)
from .shedding import Shedding, alone_s
from .slack_chunk import slack_tokens
from .victim import FewestOutput, FirstAdmitted, LastAdmitted, LowestPriority

__all__ = [
    "GATES",
    "MOST_TOKENS",
    "VICTIMS",
    "Account",
    "Aged",
    "Chunked",
    "Composition",
    "DepthFirst",
    "DynamicOrdering",
    "EarliestDeadline",
    "Expected",
    "ExpectingGate",
    "Fcfs",
    "FewestOutput",
    "FirstAdmitted",
    "FirstChunk",
    "FullPrompt",
    "Gate",
    "Joining",
    "JudgingAccount",
    "LastAdmitted",
    "LastCome",
    "LeastServed",
    "LeastSlack",
    "Ledger",
    "LongestOutput",
    "LongestPrefix",
    "LowestPriority",
    "Mixed",
    "NoEvict",
    "Ordering",
    "Policy",
    "PrefillFirst",
    "PrefillFirstChunked",
    "Priority",
    "Ranked",
    "Shedding",
    "ShortestOutput",
    "Static",
    "Unskipped",
    "Victim",
    "alone_s",
    "assemble",
    "make_policy",
    "own_policy",
    "policy_meaning",
    "policy_names",
    "policy_of",
    "register",
    "slack_tokens",
    "watched",
]
