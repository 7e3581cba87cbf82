"""A paced loop for running jobs and prompts cut to a budget: its course is one stretch of code that waits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from heapq import heappop, heappush

from qtheory.system.steptime import StepLoad
from sim.job import SAME_MOMENT_S

from .fill import Filling
from .halves import DUE, IDLE, RUN, STEP
from .job import FastJob
from .live import Clock
from .paced import CountedState, Paced
from .post import Post
from .steps import bad_seconds, totals
from .tape import pack_gap, pack_run

__all__ = ["PacedChunkedLoop"]


class PacedChunkedLoop(Paced):
    """`Paced` with the filling of `Chunked` written into it, as `sim.fast.chunked_loop` does it to `Loop`.

    The course of a replica keeps its place and its local names while it waits for the time to go on. What
    others may look at meanwhile is written down as it changes, and not read again. A pass with too few blocks
    is that of `Paced`.
    """

    def __init__(self, state: CountedState, fill: Filling, post: Post, clock: Clock) -> None:
        super().__init__(state, fill, post, clock)
        self.go_on = self._course().__next__
        self.phase, self.next_s = IDLE, math.inf

    def advance(self, before_s: float, by_s: float) -> None:
        """Every pass that starts before ``before_s``, and every step that ends by ``by_s``."""
        self.clock.before_s, self.clock.by_s = before_s, by_s
        self.go_on()

    def _complete(self, job: FastJob, end_s: float) -> None:
        """A prompt has its first token."""
        if job.output_tokens == job.n_outputs + 1:
            self._sample(job, end_s)
            self.known_tokens -= job.known_tokens
            self.n_requests -= 1
            return
        state, cohort = self.state, self._cohort
        if job is state.tail:
            state.tail = None
        if job.n_outputs:
            self._tape.gaps.extend(pack_gap(end_s - job.last_token_s, 0.0, 1, 1))
        else:
            job.first_token_s = end_s
        job.n_outputs = n_outputs = job.n_outputs + 1
        job.known_tokens = known = job.known_tokens + 1
        job.is_prefilling = False
        step, ledger = cohort.step, self._ledger
        if ledger is not None:
            ledger.sampled(job)
        job.base = base = known - 1 - step
        cohort.offsets[-base % self._block_tokens] += 1
        cohort.size += 1
        cohort.context_tokens += known
        heappush(cohort.heap, (step + job.output_tokens - n_outputs, job))
        if ledger is not None:
            ledger.joined(job)
        if state.last_decode_s != end_s:
            state.late[job] = end_s

    def _course(self) -> Iterator[None]:
        """What happens, with a halt wherever the time is not known to have come."""
        state, post, clock, tape, inf = self.state, self.post, self.clock, self._tape, math.inf
        sent, chunks, cohort, line = post.jobs, state.chunks, state.cohort, state.line
        expiries, admit, step_s, late = state.expiries, state.admit, self._step_s, state.late
        join, close, ledger, runs = line.join, self._close, cohort.ledger, tape.runs
        budget, rejects, n_blocks = state.budget_tokens, state.rejects_at_head, self._n_blocks
        offsets, size, kept_free, lines = cohort.offsets, self._block_tokens, state.kept_free, self._lines
        line_moves, sheds, tells_ends = self._line_moves, state.policy.shed.action != "none", state.tells_ends
        by_s, is_apart = clock.by_s, True
        while True:
            if is_apart:  # nothing is under way, or what was begun elsewhere
                self.least_blocks = n_blocks - state.free
                while self.phase in (STEP, RUN) and self.next_s > by_s:
                    yield
                    by_s = clock.by_s
                self._end()
                self.n_requests = line.n + state.n_running + len(sent)
                heap, now_s, free = cohort.heap, state.now_s, state.free
                self.least_blocks = n_blocks - free
                n, step, context = cohort.size, cohort.step, cohort.context_tokens
                if self.phase == IDLE:
                    while not post.next_s < clock.before_s:
                        self.next_s = max(post.next_s, now_s)
                        yield
                    state.now_s = now_s = max(post.next_s, now_s)
                before_s, by_s, is_apart = clock.before_s, clock.by_s, False
            while not now_s < before_s:
                self.phase, self.next_s, self.least_blocks = DUE, now_s, n_blocks - free
                yield
                before_s, by_s = clock.before_s, clock.by_s
            if sent:
                if sheds:
                    state.take_arrivals()
                else:
                    while sent and sent[0][0] <= now_s + SAME_MOMENT_S:
                        join(sent.popleft()[1])
                    post.next_s = sent[0][0] if sent else inf
            state.gave_up = False
            if expiries and expiries[0][0] < now_s:
                state.shed()

            # the running jobs, each with its blocks
            start_s, job, room, first = now_s, state.tail, budget - n, step % size
            is_one, spare = True, free - offsets[first]
            if job is not None:
                before = job.computed_tokens
                prefill = job.known_tokens - before
                if prefill > room:
                    prefill = room
                taken = -((before + prefill) // -size)
                if taken > job.taken_blocks:
                    spare -= taken - job.taken_blocks
                else:
                    taken = job.taken_blocks
            if spare < kept_free and state.n_running:
                self._fill_and_begin()
                is_apart = True
                continue
            state.free = free = spare
            if job is not None:
                job.taken_blocks = taken
                room -= prefill
            if line.n and (room or rejects):
                if job is not None:
                    chunks.append((job, prefill))
                admit(room, is_whole=False)
                free = state.free
                if len(chunks) > 1:
                    is_one = False
                    self._count(job)
                    job = chunks[0][0]
                elif chunks and job is None:
                    job, prefill = chunks[0]
                    before = job.computed_tokens
                    self.wanted_blocks -= -(-job.known_tokens // size)
            if sheds and state.fresh:
                state.watch()

            # what begins, and the halt until its end
            if job is not None:  # a step with prompts
                if is_one:
                    reach = before + prefill
                    work = prefill * (before + (prefill + 1) * 0.5)
                    n_sampled = n + 1 if reach == job.known_tokens else n
                else:
                    prefill, work, reach, n_sampled = totals(chunks, n)
                load = (n, context, prefill, work, reach, n_sampled)
                first_s = step_s(load)  # type: ignore[arg-type]
                if not 0 < first_s < inf:
                    raise bad_seconds(first_s, StepLoad(*load))
                k, slope_s, end_s = 1, 0.0, start_s + first_s
                if end_s > by_s:
                    self.phase, self.next_s, self.least_blocks = STEP, end_s, n_blocks - free
                    yield
                    while end_s > clock.by_s:
                        yield
                    before_s, by_s = clock.before_s, clock.by_s
                if n_sampled:
                    state.n_barren = 0
                    self.known_tokens += n_sampled
            elif n:  # a run of decodes
                known = lines.get(n)
                if known is None:
                    self._begin_run(n)
                    is_apart = True
                    continue
                base_s, slope_s = known
                first_s = base_s + slope_s * context
                slope_s *= n
                if not (0 < first_s < inf and slope_s >= 0):
                    raise bad_seconds(first_s, StepLoad(n, context, n_sampled=n))
                k = heap[0][0] - step
                if k > 1 and (line_moves or expiries or sent or n * (k // size + 1) > free - kept_free):
                    k = self._steps_ahead(k, first_s, slope_s)
                end_s = start_s + (k * first_s + slope_s * (k * (k - 1) // 2))
                if end_s > by_s:
                    self.phase, self.next_s, self.least_blocks = RUN, end_s, n_blocks - free
                    self.run_under_way = n, k, first_s, slope_s
                    yield
                    while self.next_s > clock.by_s:
                        yield
                    before_s, by_s = clock.before_s, clock.by_s
                    end_s, k = self.next_s, self.run_under_way[1]  # a request may have cut it
                work, prefill, reach, n_sampled = 0.0, 0, 0, n
                self.known_tokens += k * n
            else:
                if not state.gave_up:
                    self.phase, is_apart = IDLE, True
                continue

            # what has ended
            state.now_s = now_s = end_s
            if not n:
                slope_s = math.nan
            elif late or state.last_decode_s != start_s:
                self._gaps(n, start_s + first_s)
                if k > 1:
                    tape.gaps.extend(pack_gap(first_s + slope_s, slope_s, k - 1, n))
                slope_s = math.nan
            runs += pack_run(
                start_s, end_s, context, work, slope_s, k, n, prefill, reach, n_sampled,
                line.n, state.n_running, n_blocks - free,
            )  # fmt: skip
            if n:
                state.last_decode_s = end_s
                if k > 1:
                    last = first + k
                    if last <= size:
                        free -= sum(offsets[first + 1 : last])
                    else:
                        free -= cohort.blocks_in(k) - offsets[first]
                    state.free = free
                cohort.step = step = step + k
                cohort.context_tokens = context = context + n * k
                if heap[0][0] <= step:
                    while heap and heap[0][0] <= step:
                        gone = heappop(heap)[1]
                        computed = gone.base + step
                        offsets[-gone.base % size] -= 1
                        n -= 1
                        context -= computed + 1
                        if ledger is not None:
                            ledger.left(gone)
                        self.n_requests -= 1
                        self.known_tokens -= gone.prompt_tokens + gone.output_tokens
                        held = -(computed // -size)
                        free += held if held > gone.taken_blocks else gone.taken_blocks
                        state.n_running -= 1
                        if state.reserves:
                            state.unpromise(gone)
                        close(gone, 0, end_s)  # Status.FINISHED
                        if tells_ends:
                            post.place_free(end_s, gone.position)
                    cohort.size, cohort.context_tokens, state.free = n, context, free
            if is_one:
                if job is None:
                    continue
                job.computed_tokens = reach
                if reach == job.known_tokens:
                    self._complete(job, end_s)
                    n, context, free = cohort.size, cohort.context_tokens, state.free
            else:
                for job, prefill in chunks:
                    job.computed_tokens = reach = job.computed_tokens + prefill
                    if reach == job.known_tokens:
                        self._complete(job, end_s)
                n, context, free = cohort.size, cohort.context_tokens, state.free
            chunks.clear()
