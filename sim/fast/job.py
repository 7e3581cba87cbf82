"""State of a job in the fast engine; it lives from arrival to end."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .copies import Copy
    from .tree import Node

__all__ = ["FastJob"]


class FastJob:
    """What pieces of a policy may see of a job (`sim.job.JobView`), and what the engine keeps of it.

    While a job decodes, ``base`` plus the steps of the cohort are its computed tokens and ``n_outputs``
    is that of the moment when it joined; everything else is kept up to date. ``cached_tokens`` and the five
    that `sim.fast.cache.Cache` speaks of are set with a prefix cache alone.
    """

    __slots__ = (
        "arrival_s",
        "base",
        "cached_tokens",
        "client",
        "computed_tokens",
        "deadline_s",
        "expiry_s",
        "first_scheduled_s",
        "first_token_s",
        "is_demoted",
        "is_prefilling",
        "is_waiting",
        "is_writer",
        "known_tokens",
        "last_token_s",
        "leaf",
        "lost_tokens",
        "max_output_tokens",
        "n_listed",
        "n_outputs",
        "n_preemptions",
        "node",
        "output_tokens",
        "position",
        "predicted_output_tokens",
        "priority",
        "prompt_tokens",
        "rank",
        "recomputed_tokens",
        "table",
        "taken_blocks",
        "ticket",
    )

    cached_tokens: int
    is_writer: bool
    leaf: Node | None
    n_listed: int
    node: Node | None
    table: list[tuple[Copy, int]]

    def __init__(self, position: int, arrival_s: float, prompt_tokens: int, output_tokens: int) -> None:
        self.position = position
        self.arrival_s = arrival_s
        self.prompt_tokens = self.known_tokens = prompt_tokens
        self.output_tokens = self.max_output_tokens = output_tokens
        self.predicted_output_tokens = float(output_tokens)
        self.priority = self.client = 0
        self.deadline_s = self.expiry_s = math.inf
        self.computed_tokens = self.base = self.lost_tokens = 0
        self.n_outputs = 0
        self.taken_blocks = self.ticket = 0
        self.rank = 0  # admissions before its own: the order of the running list
        self.first_scheduled_s = self.first_token_s = self.last_token_s = math.nan
        self.n_preemptions = self.recomputed_tokens = 0
        self.is_prefilling = self.is_waiting = True
        self.is_demoted = False

    def begin_like(self, node: Node | None) -> None:
        """With a prefix cache: the last node that it shares with others, if any."""
        self.node, self.leaf = node, None
        self.table = []
        self.n_listed = self.cached_tokens = 0
        self.is_writer = False

    def __lt__(self, other: FastJob) -> bool:
        return self.position < other.position
