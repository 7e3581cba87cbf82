"""Prompts in order of arrival, whole, many in a step: a prefill instance without decodes."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque

import numpy as np

from qtheory.system.steptime import StepLoad
from qtheory.system.workload.request import Requests
from sim.fast.job import FastJob
from sim.fast.steps import bad_seconds, totals
from sim.fast.tape import Tape, pack_run
from sim.job import SAME_MOMENT_S
from sim.record import Status

from .member import Member

__all__ = ["PromptSteps"]


class PromptSteps:
    """Steps of prompts, as far ahead of the link as what is known of its releases allows.

    A prompt that finds room without the blocks that the link has yet to release would find it with them too;
    only where it does not is ``known_s`` asked for. Steps are noted with the blocks of
    their prompts alone.

    Parameters
    ----------
    requests : Requests
    fits : array of bool, shape (n,)
        Those that are not turned away.
    member : Member

    Attributes
    ----------
    ready : deque of (float, FastJob)
        Prompts that are complete, with the moment, in order.
    waits_s : float
        Moment of a pass that must know of all releases up to then; infinite if there is none.
    held : dict of int to int
        Blocks of prompts that are complete, by request, until the link releases them.
    """

    def __init__(self, requests: Requests, fits: np.ndarray, member: Member) -> None:
        policy, replica = member
        self.tape = Tape(len(requests))
        self.ready: deque[tuple[float, FastJob]] = deque()
        self.waits_s = math.inf
        self.held: dict[int, int] = {}
        self.now_s = 0.0
        self._step_s, self._block_tokens = replica.step_time.step_s, replica.block_tokens
        self._free = replica.n_blocks
        self._budget, self._max_seqs = policy.budget_tokens, policy.max_seqs
        self._watermark = policy.watermark_blocks(replica.n_blocks)
        self._always_marks = policy.watermark_scope == "always"
        rows = np.flatnonzero(fits)
        columns = (rows, requests.arrival_s[rows], requests.prompt_tokens[rows], requests.output_tokens[rows])
        self._rows = list(zip(*(column.tolist() for column in columns), strict=True))
        self._next = 0  # of the rows: the first that waits
        self._batch: list[tuple[FastJob, int]] = []
        self._is_blocked = False  # nothing runs, and the first needs blocks that the link must release

    def release(self, position: int, at_s: float) -> None:
        """The blocks of a prompt that was sent are free again."""
        self._free += self.held.pop(position)
        if self._is_blocked:
            self._is_blocked = False
            self.now_s = max(at_s, self.now_s)

    def advance(self, known_s: float) -> None:
        """Every step that is certain with the releases up to ``known_s``."""
        self.waits_s = math.inf
        while not self._is_blocked and (self._batch or self._next < len(self._rows)):
            if not self._batch:
                self.now_s = max(self.now_s, self._rows[self._next][1])
            if not self._admit(known_s):
                self.waits_s = self.now_s
                return
            if self._batch:
                self._step()
            else:
                self._is_blocked = True

    def _admit(self, known_s: float) -> bool:
        """Let prompts in; False if one may or may not have room, as ``known_s`` is before now."""
        rows, batch, now_s = self._rows, self._batch, self.now_s
        room = self._budget - sum(tokens for _, tokens in batch)
        while self._next < len(rows) and len(batch) < self._max_seqs:
            position, arrival_s, prompt, output = rows[self._next]
            if arrival_s > now_s + SAME_MOMENT_S or prompt > room:
                break
            blocks = -(-prompt // self._block_tokens)
            wanted = blocks + (self._watermark if batch or self._always_marks else 0)
            if wanted > self._free:
                if self.held and known_s < now_s:
                    return False
                break
            job = FastJob(position, arrival_s, prompt, output)
            job.first_scheduled_s = max(now_s, arrival_s)
            job.taken_blocks = blocks
            self._free -= blocks
            batch.append((job, prompt))
            room -= prompt
            self._next += 1
        return True

    def _step(self) -> None:
        batch, start_s = self._batch, self.now_s
        prefill, work, context, n_sampled = totals(batch, 0)
        load = (0, 0, prefill, work, context, n_sampled)
        seconds = self._step_s(load)  # type: ignore[arg-type]
        if not 0 < seconds < math.inf:
            raise bad_seconds(seconds, StepLoad(*load))
        self.now_s = end_s = start_s + seconds
        self.tape.runs += pack_run(
            start_s, end_s, 0, work, math.nan, 1, 0, prefill, context, n_sampled,
            bisect_right(self._rows, start_s + SAME_MOMENT_S, key=_arrival) - self._next, len(batch),
            sum(job.taken_blocks for job, _ in batch),
        )  # fmt: skip
        for job, tokens in batch:
            job.computed_tokens = tokens
            job.first_token_s = job.last_token_s = end_s
            self.tape.close(job, Status.FINISHED, end_s)
            if job.output_tokens == 1:
                self._free += job.taken_blocks
            else:
                self.held[job.position] = job.taken_blocks
                self.ready.append((end_s, job))
        batch.clear()


def _arrival(row: tuple[int, float, int, int]) -> float:
    return row[1]
