"""The loop of the fast engine for running jobs and prompts cut to a budget: a pass is one stretch of code."""

from __future__ import annotations

import math

from qtheory.system.steptime import StepLoad
from sim.job import SAME_MOMENT_S

from .loop import Loop
from .steps import bad_seconds, totals
from .tape import pack_run

__all__ = ["ChunkedLoop"]


class ChunkedLoop(Loop):
    """`Loop` with the filling of `Chunked` written into it, for steps whose blocks are there.

    Most steps of a busy server carry a piece of a prompt. Their cost is that of looking names up and calling,
    so that everything stands in one function and in its local names; a pass with too few blocks, and runs of
    decodes, are those of `Loop`.
    """

    __slots__ = ()

    def run(self) -> None:
        """Serve everything, or until the clock is stopped."""
        state, until_s = self._state, self._until_s
        inflow, chunks, cohort, line = state.inflow, state.chunks, state.cohort, state.line
        expiries, admit, decode, step_s = state.expiries, state.admit, self._decode, self._step_s
        sample, finish, gaps, runs = self._sample, self._finish, self._gaps, self._tape.runs
        budget, rejects, n_blocks = state.budget_tokens, state.rejects_at_head, self._n_blocks
        offsets, block_tokens, kept_free = cohort.offsets, self._block_tokens, state.kept_free
        while (start_s := state.now_s) < until_s:
            if inflow.next_s <= start_s + SAME_MOMENT_S:
                state.take_arrivals()
            state.gave_up = False
            if expiries and expiries[0][0] < start_s:
                state.shed()

            # the running jobs, each with its blocks
            n, tail, room = cohort.size, state.tail, budget - cohort.size
            spare = state.free - offsets[cohort.step % block_tokens]
            if tail is not None:
                before = tail.computed_tokens
                prefill = tail.known_tokens - before
                if prefill > room:
                    prefill = room
                taken = -(-(before + prefill) // block_tokens)
                if taken < tail.taken_blocks:
                    taken = tail.taken_blocks
                spare -= taken - tail.taken_blocks
            if spare < kept_free and state.n_running:
                if not self._fill_and_step():
                    return
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
                if not (decode(n) if n else state.gave_up or self._jump()):
                    return
                continue

            # a step with prompts
            context, n_sampled = cohort.context_tokens if n else 0, n
            if len(chunks) == 1:
                job, prefill = chunks[0]
                before = job.computed_tokens
                work = prefill * (before + (prefill + 1) * 0.5)
                prefill_context = before + prefill
                if prefill_context == job.known_tokens:
                    n_sampled += 1
            else:
                prefill, work, prefill_context, n_sampled = totals(chunks, n)
            load = (n, context, prefill, work, prefill_context, n_sampled)
            seconds = step_s(load)  # type: ignore[arg-type]
            if not 0 < seconds < math.inf:
                raise bad_seconds(seconds, StepLoad(*load))
            end_s = start_s + seconds
            if end_s > until_s:
                state.now_s = until_s
                return
            state.now_s = end_s
            if n_sampled:
                state.n_barren = 0
            slope_s = math.nan
            if n:
                if state.late or state.last_decode_s != start_s:
                    gaps(n, end_s)
                else:
                    slope_s = 0.0
                state.last_decode_s = end_s
            runs += pack_run(
                start_s, end_s, context, work, slope_s, 1, n, prefill, prefill_context, n_sampled,
                line.n, state.n_running, n_blocks - state.free,
            )  # fmt: skip
            if n:
                cohort.step = step = cohort.step + 1
                cohort.context_tokens += n
                if cohort.heap[0][0] <= step:
                    for job in cohort.leave():
                        finish(job, end_s)
            for job, tokens in chunks:
                job.computed_tokens = done = job.computed_tokens + tokens
                if done == job.known_tokens:
                    sample(job, end_s)
            chunks.clear()
