"""A link and the decode instance behind it, from change to change."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from qtheory.system.steptime import StepLoad
from sim.fast.cohort import Cohort
from sim.fast.job import FastJob
from sim.fast.steps import bad_seconds, steps_until
from sim.fast.tape import Tape, pack_gap, pack_run
from sim.job import SAME_MOMENT_S
from sim.record import Status

from ._fast_prefill import PromptSteps
from .link import Link
from .member import Member

__all__ = ["LinkedDecodes", "MemoryShortError"]


class MemoryShortError(Exception):
    """Somebody would be preempted."""


class LinkedDecodes:
    """What is complete goes over the link, first come, first served, and decodes from the next step on.

    Parameters
    ----------
    n : int
        Requests.
    member : Member
    link : Link
    prompts : PromptSteps
        Where prompts come from.
    tells_at_end : bool
        Whether the first token counts at the end of the transfer.
    """

    def __init__(
        self, n: int, member: Member, link: Link, prompts: PromptSteps, *, tells_at_end: bool
    ) -> None:
        policy, replica = member
        self.tape = Tape(n)
        self._times_s = np.full((2, n), math.nan)
        self.now_s = 0.0
        self._prompts, self._link, self._tells_at_end = prompts, link, tells_at_end
        self._step_s, self._line_of = replica.step_time.step_s, replica.step_time.decode_line
        self._lines: dict[int, tuple[float, float] | None] = {}
        self._block_tokens = replica.block_tokens
        self._free = self._n_blocks = replica.n_blocks
        self._kept_free = int(policy.append_rule == "conservative")
        self._max_seqs = policy.max_seqs
        self._cohort = Cohort(replica.block_tokens)
        self._late: dict[float, int] = {}  # members by the moment of a last token that no step here gave
        self._last_decode_s = math.nan
        self._on_link: FastJob | None = None
        self._link_end_s, self._begin_s = math.inf, 0.0
        self._landed: list[FastJob] = []
        self._n_coming = 0
        self._is_full = False  # the first that is complete found no room

    def run(self) -> None:
        """To the end of all work."""
        prompts = self._prompts
        prompts.advance(0.0)
        while True:
            self._change(self.now_s + SAME_MOMENT_S)
            for job in self._landed:
                self._join(job)
            self._landed.clear()
            if self._cohort.size:
                self._decode()
                continue
            next_s = min(self._next_s, prompts.waits_s)
            if math.isinf(next_s):
                return
            self.now_s = max(self.now_s, next_s)

    # ---- the link

    def link_times_s(self) -> NDArray[np.float64]:
        """When transfers began and ended, shape (2, n), seconds; NaN for what was never sent."""
        return self._times_s

    @property
    def _next_s(self) -> float:
        """When the link changes next, as far as known; infinite if only the end of a decode can change it."""
        if self._on_link is not None:
            return self._link_end_s
        if self._is_full or not self._prompts.ready:
            return math.inf
        return max(self._prompts.ready[0][0], self._begin_s)

    def _change(self, by_s: float) -> None:
        """Everything that happens on the link up to a moment, and what prompts make of it."""
        while True:
            at_s = self._next_s
            waits_s = self._prompts.waits_s
            if waits_s < at_s and waits_s <= by_s:
                self._prompts.advance(waits_s)
                continue
            if at_s > by_s:
                return
            if self._on_link is not None:
                self._end(self._on_link, at_s)
            self._begin(at_s)

    def _end(self, job: FastJob, at_s: float) -> None:
        self._on_link = None
        self._begin_s = at_s
        self._landed.append(job)
        job.arrival_s = at_s
        if self._tells_at_end:
            job.first_token_s = job.last_token_s = at_s
        self._prompts.release(job.position, at_s)
        if self._prompts.waits_s > at_s:
            self._prompts.advance(at_s)

    def _begin(self, at_s: float) -> None:
        """Put the first that is complete on the free link, if the other side has room."""
        ready = self._prompts.ready
        if not ready or ready[0][0] > at_s + SAME_MOMENT_S:
            return
        job = ready[0][1]
        blocks = -(-job.prompt_tokens // self._block_tokens)
        if self._cohort.size + self._n_coming >= self._max_seqs or blocks > self._free:
            self._is_full = True
            return
        ready.popleft()
        self._free -= blocks
        self._n_coming += 1
        self._on_link = job
        self._link_end_s = at_s + self._link.seconds(job.prompt_tokens)
        self._times_s[:, job.position] = at_s, self._link_end_s

    # ---- decodes

    def _join(self, job: FastJob) -> None:
        self._n_coming -= 1
        job.n_outputs = 1
        job.known_tokens += 1
        self._cohort.join(job)
        self._late[job.last_token_s] = self._late.get(job.last_token_s, 0) + 1

    def _decode(self) -> None:
        """Steps of all members, as many as go by without a change."""
        cohort, n = self._cohort, self._cohort.size
        if n not in self._lines:
            self._lines[n] = self._line_of(n)
        line, context = self._lines[n], cohort.context_tokens
        if line is None:
            first_s, slope_s = self._step_s((n, context, 0, 0.0, 0, n)), 0.0  # type: ignore[arg-type]
        else:
            first_s, slope_s = line[0] + line[1] * context, line[1] * n
        if not (0 < first_s < math.inf and slope_s >= 0):
            raise bad_seconds(first_s, StepLoad(n, context, n_sampled=n))
        taken = cohort.blocks_needed()
        if self._free - taken < self._kept_free:
            raise MemoryShortError
        k = 1 if line is None else self._steps_ahead(first_s, slope_s)
        start_s, span_s = self.now_s, k * first_s + slope_s * (k * (k - 1) // 2)
        end_s = start_s + span_s
        told_s = slope_s
        if self._late or self._last_decode_s != start_s:
            told_s = math.nan
            self._tell_gaps(n, start_s + first_s)
            if k > 1:
                self.tape.gaps.extend(pack_gap(first_s + slope_s, slope_s, k - 1, n))
        self._last_decode_s = end_s
        used = self._n_blocks - self._free + taken
        self.tape.runs += pack_run(start_s, end_s, context, 0.0, told_s, k, n, 0, 0, n, 0, n, used)
        self._free -= cohort.blocks_in(k)
        has_ended = cohort.advance(k)
        self._change(end_s - SAME_MOMENT_S)  # before anybody leaves
        self.now_s = end_s
        if has_ended:
            self._leave(end_s)

    def _tell_gaps(self, n: int, end_s: float) -> None:
        for moment_s, count in self._late.items():
            self.tape.gaps.extend(pack_gap(end_s - moment_s, 0.0, 1, count))
            n -= count
        self._late.clear()
        if n:
            self.tape.gaps.extend(pack_gap(end_s - self._last_decode_s, 0.0, 1, n))

    def _leave(self, end_s: float) -> None:
        for job in self._cohort.leave():
            self._free += -(-job.computed_tokens // self._block_tokens)
            self.tape.close(job, Status.FINISHED, end_s)
        if self._is_full:
            self._is_full = False
            self._begin_s = end_s

    def _steps_ahead(self, first_s: float, slope_s: float) -> int:
        """Steps until somebody leaves, the link changes, or blocks run out; at least one."""
        cohort = self._cohort
        k = cohort.steps_to_finish()
        left_s = min(self._next_s, self._prompts.waits_s) - SAME_MOMENT_S - self.now_s
        if k > 1 and k * first_s + slope_s * (k * (k - 1) // 2) > left_s:
            k = min(k, steps_until(left_s, first_s, slope_s))
        if cohort.size * (k // self._block_tokens + 1) > self._free - self._kept_free:
            k = min(k, max(cohort.steps_within(self._free - self._kept_free), 1))
        return k
