"""The decode batch as a cohort: a step costs what changes in it, not the size of the batch."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Protocol

from .job import FastJob

__all__ = ["Cohort", "Ledger"]


class Ledger(Protocol):
    """Who wants to know what the members produce."""

    def sampled(self, job: FastJob) -> None:
        """The token with which a prompt ends."""
        ...

    def joined(self, job: FastJob) -> None:
        """A job decodes from the next step on."""
        ...

    def left(self, job: FastJob) -> None:
        """It does not decode any more."""
        ...


class Cohort:
    """Jobs that decode together, one token each in every step, without being visited.

    A member is a heap entry keyed by the step at which it will finish; its context is implied by the step at
    which it joined. The members are also counted by the offset within a KV block, so that the blocks needed
    by a step are one look-up.

    Parameters
    ----------
    block_tokens : int
        Tokens of a KV block.

    Attributes
    ----------
    step : int
        Decode steps taken since the start.
    size : int
        Members.
    context_tokens : int
        Tokens that the next step attends to, over all members, the computed ones included.
    offsets : list of int
        Members by the step, modulo a block, that takes a new block.
    ledger : Ledger, optional
        Who is told of members.
    """

    __slots__ = ("_block_tokens", "context_tokens", "heap", "ledger", "offsets", "size", "step")

    def __init__(self, block_tokens: int) -> None:
        self.step = 0
        self.size = 0
        self.context_tokens = 0
        self.ledger: Ledger | None = None
        self.heap: list[tuple[int, FastJob]] = []
        self._block_tokens = block_tokens
        self.offsets = [0] * block_tokens

    def join(self, job: FastJob) -> None:
        """Let ``job``, whose known tokens are all computed but the last, decode from the next step on."""
        computed = job.computed_tokens
        job.base = base = computed - self.step
        self.offsets[-base % self._block_tokens] += 1
        self.size += 1
        self.context_tokens += computed + 1
        heappush(self.heap, (self.step + job.output_tokens - job.n_outputs, job))
        if self.ledger is not None:
            self.ledger.joined(job)

    def steps_to_finish(self) -> int:
        """Steps until the first member finishes; there must be one."""
        return self.heap[0][0] - self.step

    def blocks_needed(self) -> int:
        """Blocks that the next step takes."""
        return self.offsets[self.step % self._block_tokens]

    def blocks_in(self, n_steps: int) -> int:
        """Blocks that the next ``n_steps`` steps take."""
        offsets, size = self.offsets, self._block_tokens
        cycles, rest = divmod(n_steps, size)
        first = self.step % size
        if first + rest <= size:
            return cycles * self.size + sum(offsets[first : first + rest])
        return cycles * self.size + sum(offsets[first:]) + sum(offsets[: first + rest - size])

    def steps_within(self, n_blocks: int) -> int:
        """Most steps that take no more than ``n_blocks`` blocks, for at least one member."""
        cycles, left = divmod(n_blocks, self.size)
        n_steps, size = cycles * self._block_tokens, self._block_tokens
        while left >= (need := self.offsets[(self.step + n_steps) % size]):
            left -= need
            n_steps += 1
        return n_steps

    def advance(self, n_steps: int) -> bool:
        """Take ``n_steps`` steps, at most `steps_to_finish`; whether a member has all its outputs now."""
        self.step = step = self.step + n_steps
        self.context_tokens += self.size * n_steps
        return self.heap[0][0] <= step

    def leave(self) -> list[FastJob]:
        """Take out the members that have all their outputs."""
        heap, step, offsets, size, gone = self.heap, self.step, self.offsets, self._block_tokens, []
        while heap and heap[0][0] <= step:
            job = heappop(heap)[1]
            base = job.base
            job.computed_tokens = computed = base + step
            offsets[-base % size] -= 1
            self.size -= 1
            self.context_tokens -= computed + 1
            if self.ledger is not None:
                self.ledger.left(job)
            gone.append(job)
        return gone

    def members(self) -> list[FastJob]:
        """All members with their state brought up to date, in no order."""
        for finish, job in self.heap:
            job.computed_tokens = job.base + self.step
            job.n_outputs = job.output_tokens - (finish - self.step)
            job.known_tokens = job.prompt_tokens + job.n_outputs
        return [job for _, job in self.heap]

    def remove(self, jobs: set[FastJob]) -> None:
        """Take out members before they finish; their state must be up to date (`members`)."""
        self.heap = [entry for entry in self.heap if entry[1] not in jobs]
        heapify(self.heap)
        for job in jobs:
            self._forget(job)

    def _forget(self, job: FastJob) -> None:
        base = job.base
        self.offsets[-base % self._block_tokens] -= 1
        self.size -= 1
        self.context_tokens -= base + self.step + 1
        if self.ledger is not None:
            self.ledger.left(job)
