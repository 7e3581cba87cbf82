"""The loop for running jobs and prompts cut to a budget: a pass is one stretch of code, and it can wait."""

from __future__ import annotations

import math
from collections.abc import Iterator
from heapq import heappop

from qtheory.system.steptime import StepLoad
from sim.job import SAME_MOMENT_S

from .fill import Filling, chunked
from .halves import DUE, IDLE, RUN, STEP
from .live import Clock
from .paced import CountedState, Paced
from .post import Post
from .steps import bad_seconds, totals
from .tape import pack_gap, pack_run

__all__ = ["PacedChunkedLoop", "serve_alone"]


class PacedChunkedLoop(Paced):
    """`Paced` with the filling of `Chunked` written into it, for steps whose blocks are there.

    Most steps of a busy server carry a piece of a prompt. Their cost is that of looking names up and calling,
    so that everything stands in one function and in its local names. The course of a replica keeps these, and
    its place, while it waits for the time to go on; alone it never waits. What others may look at meanwhile
    is written down as it changes, and not read again. A pass with too few blocks is that of `Paced`.
    """

    def __init__(self, state: CountedState, fill: Filling, post: Post, clock: Clock) -> None:
        super().__init__(state, fill, post, clock)
        self.go_on = self._course().__next__
        self.phase, self.next_s = IDLE, math.inf

    def advance(self, before_s: float, by_s: float) -> None:
        """Every pass that starts before ``before_s``, and every step that ends by ``by_s``."""
        self.clock.before_s, self.clock.by_s = before_s, by_s
        self.go_on()

    def _course(self) -> Iterator[None]:
        """What happens, with a halt wherever the time is not known to have come."""
        state, inflow, clock, tape, inf = self.state, self.state.inflow, self.clock, self._tape, math.inf
        chunks, cohort, line, take_arrivals = state.chunks, state.cohort, state.line, state.take_arrivals
        expiries, admit, step_s, late = state.expiries, state.admit, self._step_s, state.late
        close, ledger, runs = self._close, cohort.ledger, tape.runs
        budget, rejects, n_blocks = state.budget_tokens, state.rejects_at_head, self._n_blocks
        offsets, size, kept_free, lines = cohort.offsets, self._block_tokens, state.kept_free, self._lines
        line_moves, sheds, tells_ends = self._line_moves, state.policy.shed.action != "none", state.tells_ends
        sample, by_s, is_apart = self._sample, clock.by_s, True
        while True:
            if is_apart:  # nothing is under way, or what was begun elsewhere
                self.least_blocks = n_blocks - state.free
                while self.phase in (STEP, RUN) and self.next_s > by_s:
                    yield
                    by_s = clock.by_s
                self._end()
                heap, now_s, free = cohort.heap, state.now_s, state.free
                self.least_blocks = n_blocks - free
                n, step, context = cohort.size, cohort.step, cohort.context_tokens
                if self.phase == IDLE:
                    while not inflow.next_s < clock.before_s:
                        self.next_s = max(inflow.next_s, now_s)
                        yield
                    state.now_s = now_s = max(inflow.next_s, now_s)
                before_s, by_s, is_apart = clock.before_s, clock.by_s, False
            while not now_s < before_s:
                self.phase, self.next_s, self.least_blocks = DUE, now_s, n_blocks - free
                yield
                before_s, by_s = clock.before_s, clock.by_s
            if inflow.next_s <= now_s + SAME_MOMENT_S:
                take_arrivals()
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
            elif n:  # a run of decodes
                if n not in lines:
                    lines[n] = self._decode_line(n)
                known = lines[n]
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
                if k > 1 and (
                    inflow.next_s < inf or line_moves or expiries or n * (k // size + 1) > free - kept_free
                ):
                    k = self._steps_ahead(k, first_s, slope_s)
                end_s = start_s + (k * first_s + slope_s * (k * (k - 1) // 2))
                if end_s > by_s:
                    self.phase, self.next_s, self.least_blocks = RUN, end_s, n_blocks - free
                    self.run_under_way = n, k, first_s, slope_s
                    self._found = line.n, state.n_running, n_blocks - free
                    yield
                    while self.next_s > clock.by_s:
                        yield
                    before_s, by_s = clock.before_s, clock.by_s
                    end_s, k = self.next_s, self.run_under_way[1]  # a request may have cut it
                work, prefill, reach, n_sampled = 0.0, 0, 0, n
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
                        held = -(computed // -size)
                        free += held if held > gone.taken_blocks else gone.taken_blocks
                        state.n_running -= 1
                        if state.reserves:
                            state.unpromise(gone)
                        close(gone, 0, end_s)  # Status.FINISHED
                        if tells_ends:
                            inflow.place_free(end_s, gone.position)
                    cohort.size, cohort.context_tokens, state.free = n, context, free
            if is_one:
                if job is None:
                    continue
                job.computed_tokens = reach
                if reach == job.known_tokens:
                    self.outside_tokens -= reach
                    sample(job, end_s)
                    n, context, free = cohort.size, cohort.context_tokens, state.free
            else:
                for job, prefill in chunks:
                    job.computed_tokens = reach = job.computed_tokens + prefill
                    if reach == job.known_tokens:
                        self.outside_tokens -= reach
                        sample(job, end_s)
                n, context, free = cohort.size, cohort.context_tokens, state.free
            chunks.clear()


def serve_alone(state: CountedState, until_s: float) -> None:
    """Serve everything that comes to a replica without a router, or until the clock is stopped.

    Parameters
    ----------
    state : CountedState
    until_s : float
    """
    loop = PacedChunkedLoop(state, chunked, Post(hears_ends=False), Clock())
    loop.finish(until_s)
    del loop.go_on, state.counter  # which hold on to the loop: memory is free at once
