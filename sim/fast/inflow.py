"""What clients send to the fast engine, and when."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.system.workload.request import Requests
from sim.policies import MOST_TOKENS, Expected, Policy
from sim.replica import Replica

from .job import FastJob
from .tree import Node

__all__ = ["Inflow", "unfit"]

_BLOCK = 4096  # rows that are turned into Python numbers at once: columns stay packed
_OPTIONAL = ("max_output_tokens", "predicted_output_tokens", "priority", "client", "ttft_slo_s")


class Inflow:
    """Requests in order; with a cap on requests in flight, each waits for a place and the thinking time.

    Attributes
    ----------
    next_s : float
        When the next request is sent; infinite if there is none, or no place for it.
    hears_ends : bool
        Whether `place_free` must be told of ends.
    """

    __slots__ = (
        "_at", "_block", "_has_cap", "_nodes", "_places", "_requests", "_start", "_think_s", "hears_ends",
        "next_s",
    )  # fmt: skip

    def __init__(
        self, requests: Requests, *, cap: int, think_s: float, nodes: Sequence[Node | None] | None = None
    ) -> None:
        self._requests = requests
        self._nodes = nodes  # with a prefix cache: whom each begins like
        self._think_s = think_s
        self._has_cap = self.hears_ends = cap > 0
        self._places = [-math.inf] * min(cap, len(requests))
        self._start = self._at = 0
        self._block: list[tuple[Any, ...]] = []
        self.next_s = math.inf
        self._look()

    @property
    def has_more(self) -> bool:
        """Whether any request is still to be sent."""
        return self._start + self._at < len(self._requests)

    def take(self) -> FastJob:
        """The request that is sent at `next_s`."""
        row = self._block[self._at]
        job = FastJob(self._start + self._at, self.next_s, row[1], row[2])
        if len(row) > 3:
            longest, predicted, job.priority, job.client, ttft_slo_s = row[3:]
            job.max_output_tokens = longest
            job.predicted_output_tokens = predicted
            job.deadline_s = self.next_s + ttft_slo_s
        if self._nodes is not None:
            job.begin_like(self._nodes[job.position])
        if self._has_cap:
            heapq.heappop(self._places)
        self._at += 1
        if self._has_cap or self._at == len(self._block):
            self._look()
        else:
            self.next_s = self._block[self._at][0]
        return job

    def place_free(self, at_s: float, position: int) -> None:
        """The request in this row came to its end (only if ends are heard)."""
        heapq.heappush(self._places, at_s + self._think_s)
        self._look()

    def _look(self) -> None:
        if self._at == len(self._block):
            self._start += self._at
            self._at = 0
            self._block = self._rows(self._start, self._start + _BLOCK)
        if not self._block or (self._has_cap and not self._places):
            self.next_s = math.inf
        else:
            arrival_s = self._block[self._at][0]
            self.next_s = max(arrival_s, self._places[0]) if self._has_cap else arrival_s

    def _rows(self, low: int, high: int) -> list[tuple[Any, ...]]:
        requests = self._requests
        part = slice(low, high)
        columns = [requests.arrival_s[part], requests.prompt_tokens[part], requests.output_tokens[part]]
        if any(getattr(requests, name) is not None for name in _OPTIONAL):
            n = len(columns[0])
            defaults = {"priority": 0, "client": 0, "ttft_slo_s": math.inf}
            for name in _OPTIONAL:
                given = getattr(requests, name)
                if given is None:
                    columns.append(np.full(n, defaults[name]) if name in defaults else columns[2])
                else:
                    columns.append(given[part])
        return list(zip(*(column.tolist() for column in columns), strict=True))


def unfit(requests: Requests, policy: Policy, replica: Replica) -> NDArray[np.bool_]:
    """Which requests could never be served to their longest output: to be turned away when they arrive."""
    prompt, limit = requests.prompt_tokens, replica.max_model_len_tokens
    given = requests.max_output_tokens
    longest = requests.output_tokens if given is None else given
    never = np.zeros(len(requests), dtype=bool)
    if limit:
        never |= prompt > limit - 1
        longest = np.minimum(longest, limit - prompt)
    if policy.composition.whole_prompts:
        never |= prompt > policy.budget_tokens
    stored = prompt + longest - 1
    wanted = stored
    if policy.admission.reserves:
        wanted = np.maximum(stored, prompt + (requests.output_tokens if given is None else given))
    kept = np.zeros(len(requests), dtype=np.int64)
    if policy.watermark_scope == "always":
        kept += policy.watermark_blocks(replica.n_blocks)
    if policy.append_rule == "conservative":  # the last chunks ask for a free block that they do not use
        in_one_step = np.minimum(prompt + longest, policy.budget_tokens)
        kept = np.where(stored > in_one_step, np.maximum(kept, 1), kept)
    if isinstance(policy.admission, Expected):
        most = np.minimum(requests.output_tokens if given is None else given, MOST_TOKENS)
        wanted = np.maximum(stored, prompt + most)
    blocks = -(-wanted // replica.block_tokens) + kept
    return np.asarray(never | (blocks > replica.n_blocks))
