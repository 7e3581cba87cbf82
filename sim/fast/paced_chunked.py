"""A paced loop for running jobs and prompts cut to a budget: its course is one stretch of code that waits."""

from __future__ import annotations

import math
from collections.abc import Iterator

from qtheory.system.steptime import StepLoad
from sim.job import SAME_MOMENT_S

from .fill import Filling
from .halves import DUE, IDLE, STEP
from .live import Clock
from .paced import CountedState, Paced
from .post import Post
from .steps import bad_seconds, totals
from .tape import pack_run

__all__ = ["PacedChunkedLoop"]


class PacedChunkedLoop(Paced):
    """`Paced` with the filling of `Chunked` written into it, as `sim.fast.chunked_loop` does it to `Loop`.

    The course of a replica keeps its place and its local names while it waits for the time to go on. A pass
    with too few blocks is that of `Paced`.
    """

    def __init__(self, state: CountedState, fill: Filling, post: Post, clock: Clock) -> None:
        super().__init__(state, fill, post, clock)
        self._before_s = self._by_s = -math.inf
        self._go_on = self._course().__next__
        self.phase, self.next_s = IDLE, math.inf

    def advance(self, before_s: float, by_s: float) -> None:
        """Every pass that starts before ``before_s``, and every step that ends by ``by_s``."""
        self._before_s, self._by_s = before_s, by_s
        self._go_on()
        state = self.state
        self.n_requests = state.line.n + state.n_running + len(self.post.jobs)

    def _course(self) -> Iterator[None]:
        """What happens, with a halt wherever the time is not known to have come."""
        state, post = self.state, self.post
        chunks, cohort, line, tape = state.chunks, state.cohort, state.line, self._tape
        expiries, admit, step_s, late = state.expiries, state.admit, self._step_s, state.late
        budget, rejects, n_blocks = state.budget_tokens, state.rejects_at_head, self._n_blocks
        offsets, size, kept_free = cohort.offsets, self._block_tokens, state.kept_free
        while True:
            if self.phase == IDLE:
                while not post.next_s < self._before_s:
                    self.next_s = max(post.next_s, state.now_s)
                    yield
                state.now_s = max(post.next_s, state.now_s)
                self.phase = DUE
            while not state.now_s < self._before_s:
                self.next_s = state.now_s
                yield
            start_s = state.now_s
            if post.next_s <= start_s + SAME_MOMENT_S:
                state.take_arrivals()
            state.gave_up = False
            if expiries and expiries[0][0] < start_s:
                state.shed()

            # the running jobs, each with its blocks
            n, tail, room = cohort.size, state.tail, budget - cohort.size
            spare = state.free - offsets[cohort.step % size]
            if tail is not None:
                before = tail.computed_tokens
                prefill = tail.known_tokens - before
                if prefill > room:
                    prefill = room
                taken = -(-(before + prefill) // size)
                if taken < tail.taken_blocks:
                    taken = tail.taken_blocks
                spare -= taken - tail.taken_blocks
            if spare < kept_free and state.n_running:
                self._fill_and_begin()
                while self.phase > DUE and self.phase < IDLE and self.next_s > self._by_s:
                    yield
                self._end()
                continue
            state.free = spare
            if tail is not None:
                tail.taken_blocks = taken
                room -= prefill
                chunks.append((tail, prefill))
            if line.n and (room or rejects):
                admit(room, is_whole=False)
            if state.fresh:
                state.watch()
            if not chunks:
                if not n:
                    self.phase = DUE if state.gave_up else IDLE
                    continue
                self._begin_run(n)
                while self.next_s > self._by_s:
                    yield
                self._end()
                continue

            # a step with prompts begins
            context, n_sampled = cohort.context_tokens if n else 0, n
            if len(chunks) == 1:
                job, prefill = chunks[0]
                before = job.computed_tokens
                work = prefill * (before + (prefill + 1) * 0.5)
                prefill_context = before + prefill
                if prefill_context == job.known_tokens:
                    n_sampled += 1
                if job is not tail:
                    self.wanted_blocks -= -(-job.known_tokens // size)
            else:
                prefill, work, prefill_context, n_sampled = totals(chunks, n)
                self._count(tail)
            load = (n, context, prefill, work, prefill_context, n_sampled)
            seconds = step_s(load)  # type: ignore[arg-type]
            if not 0 < seconds < math.inf:
                raise bad_seconds(seconds, StepLoad(*load))
            end_s = start_s + seconds
            if end_s > self._by_s:
                self.phase, self.next_s = STEP, end_s
                yield
                while end_s > self._by_s:
                    yield
                self.phase = DUE

            # and ends
            state.now_s = end_s
            if n_sampled:
                state.n_barren = 0
                self.known_tokens += n_sampled
            slope_s = math.nan
            if n:
                if late or state.last_decode_s != start_s:
                    self._gaps(n, end_s)
                else:
                    slope_s = 0.0
                state.last_decode_s = end_s
            tape.runs += pack_run(
                start_s, end_s, context, work, slope_s, 1, n, prefill, prefill_context, n_sampled,
                line.n, state.n_running, n_blocks - state.free,
            )  # fmt: skip
            if n:
                cohort.step = step = cohort.step + 1
                cohort.context_tokens += n
                if cohort.heap[0][0] <= step:
                    self._let_go(end_s)
            for job, tokens in chunks:
                job.computed_tokens = done = job.computed_tokens + tokens
                if done == job.known_tokens:
                    self._sample(job, end_s)
                    if job.n_outputs == job.output_tokens:
                        self.known_tokens -= job.known_tokens
            chunks.clear()
