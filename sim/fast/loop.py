"""The loop of the fast engine: fill a step, run it or a whole run of equal ones, deliver its tokens."""

from __future__ import annotations

import math

from qtheory.system.steptime import StepLoad
from sim.job import SAME_MOMENT_S

from .fill import Filling
from .job import FastJob
from .state import State
from .steps import bad_seconds, steps_until, totals
from .tape import pack_gap, pack_run

__all__ = ["Loop"]


class Loop:
    """One run over a state, with a way to fill the steps.

    Parameters
    ----------
    state : State
    fill : callable (State) -> int
        Chooses what the next step computes: fills ``state.chunks``, returns how many members of the cohort
        decode (all or none).
    until_s : float
        Moment at which the clock is stopped.
    """

    __slots__ = (
        "_block_tokens",
        "_close",
        "_cohort",
        "_decode_line",
        "_fill",
        "_ledger",
        "_line_moves",
        "_lines",
        "_n_blocks",
        "_outlook",
        "_state",
        "_step_s",
        "_tape",
        "_until_s",
        "_write",
    )

    def __init__(self, state: State, fill: Filling, until_s: float) -> None:
        self._state = state
        self._fill = fill
        self._until_s = until_s
        self._tape, self._cohort = state.tape, state.cohort
        self._write, self._close = state.tape.runs.extend, state.tape.close
        self._block_tokens, self._n_blocks = state.block_tokens, state.replica.n_blocks
        self._step_s = state.replica.step_time.step_s
        self._decode_line = state.replica.step_time.decode_line
        self._outlook = state.outlook
        self._ledger, self._line_moves = state.cohort.ledger, not state.line.is_fixed
        self._lines: dict[int, tuple[float, float] | None] = {}

    def run(self) -> None:
        """Serve everything, or until the clock is stopped."""
        state, until_s = self._state, self._until_s
        inflow, expiries, fill_and_step = state.inflow, state.expiries, self._fill_and_step
        while state.now_s < until_s:
            if inflow.next_s <= state.now_s + SAME_MOMENT_S:
                state.take_arrivals()
            state.gave_up = False
            if expiries and expiries[0][0] < state.now_s:
                state.shed()
            if not fill_and_step():
                return

    def _fill_and_step(self) -> bool:
        """A pass after its arrivals; False if nothing will ever follow, or the clock stops before its end."""
        state = self._state
        preempted = state.preempted
        n = self._fill(state)
        if preempted:
            state.rejoin()
        if state.fresh:
            state.watch()
        if n or state.chunks:
            if not (self._step(n) if state.chunks or preempted or state.stalled else self._decode(n)):
                return False
            if preempted:
                preempted.clear()
        elif preempted:
            preempted.clear()
            state.resume_stalled()
        elif not state.gave_up:
            return self._jump()
        return True

    def _jump(self) -> bool:
        """Go on to the next arrival; False if there is none."""
        state, next_s = self._state, self._state.inflow.next_s
        if next_s == math.inf:
            if state.line.n or state.n_running:
                raise state.stuck()
            return False
        state.now_s = min(max(next_s, state.now_s), self._until_s)
        return True

    # ---- one step

    def _step(self, n: int) -> bool:
        """A step with prompts, or after a shortage; False if the clock stops before its end."""
        state, cohort = self._state, self._cohort
        chunks, context, n_sampled = state.chunks, cohort.context_tokens if n else 0, n
        if len(chunks) == 1:
            job, prefill = chunks[0]
            work = prefill * (job.computed_tokens + (prefill + 1) * 0.5)
            prefill_context = job.computed_tokens + prefill
            if prefill_context == job.known_tokens:
                n_sampled += 1
        else:
            prefill, work, prefill_context, n_sampled = totals(chunks, n)
        load = (n, context, prefill, work, prefill_context, n_sampled)
        seconds = self._step_s(load)  # type: ignore[arg-type]
        if not 0 < seconds < math.inf:
            raise bad_seconds(seconds, StepLoad(*load))
        start_s = state.now_s
        end_s = start_s + seconds
        if end_s > self._until_s:
            state.now_s = self._until_s
            return False
        state.now_s = end_s
        if n_sampled:
            state.n_barren = 0
        slope_s = math.nan
        if n:
            if state.late or state.last_decode_s != start_s:
                self._gaps(n, end_s)
            else:
                slope_s = 0.0
            state.last_decode_s = end_s
        used = self._n_blocks - state.free
        n_waiting, n_running = state.line.n, state.n_running
        self._write(
            pack_run(
                start_s, end_s, context, work, slope_s,
                1, n, prefill, prefill_context, n_sampled, n_waiting, n_running, used,
            )
        )  # fmt: skip
        if n:
            cohort.step = step = cohort.step + 1
            cohort.context_tokens += cohort.size
            if cohort.heap[0][0] <= step:
                for job in cohort.leave():
                    self._finish(job, end_s)
        if state.stalled:
            state.resume_stalled()
        for job, tokens in chunks:
            job.computed_tokens += tokens
            if job.computed_tokens == job.known_tokens:
                self._sample(job, end_s)
        chunks.clear()
        return True

    def _gaps(self, n: int, end_s: float) -> None:
        """Gaps of a step of all ``n`` members of the cohort."""
        state = self._state
        gaps, late = self._tape.gaps, state.late
        if late:
            moments: dict[float, int] = {}
            for moment_s in late.values():
                moments[moment_s] = moments.get(moment_s, 0) + 1
            for moment_s, count in moments.items():
                gaps.extend(pack_gap(end_s - moment_s, 0.0, 1, count))
            n -= len(late)
            late.clear()
        if n:
            gaps.extend(pack_gap(end_s - state.last_decode_s, 0.0, 1, n))

    def _sample(self, job: FastJob, end_s: float) -> None:
        """A prompt is complete: its token comes, and it decodes from the next step on."""
        state = self._state
        if job is state.tail:
            state.tail = None
        elif state.overtaken:
            state.put_aside(job)
        if job.n_outputs:
            self._tape.gaps.extend(pack_gap(end_s - job.last_token_s, 0.0, 1, 1))
        else:
            job.first_token_s = end_s
        job.n_outputs += 1
        job.known_tokens += 1
        job.is_prefilling = False
        if self._ledger is not None:
            self._ledger.sampled(job)
        if job.n_outputs == job.output_tokens:
            self._finish(job, end_s)
            return
        state.cohort.join(job)
        if state.last_decode_s != end_s:
            state.late[job] = end_s

    def _finish(self, job: FastJob, end_s: float) -> None:
        state = self._state
        held = -(-job.computed_tokens // self._block_tokens)
        state.free += held if held > job.taken_blocks else job.taken_blocks
        state.n_running -= 1
        if state.reserves:
            state.unpromise(job)
        self._close(job, 0, end_s)  # Status.FINISHED
        if state.tells_ends:
            state.inflow.place_free(end_s, job.position)

    # ---- a run of steps

    def _decode(self, n: int) -> bool:
        """Steps of the cohort alone, as many as go by without a change."""
        state, cohort = self._state, self._cohort
        try:
            line = self._lines[n]
        except KeyError:
            line = self._lines[n] = self._decode_line(n)
        if line is None:
            return self._step(n)
        context, (base_s, per_token_s) = cohort.context_tokens, line
        first_s, slope_s = base_s + per_token_s * context, per_token_s * n
        if not (0 < first_s < math.inf and slope_s >= 0):
            raise bad_seconds(first_s, StepLoad(n, context, n_sampled=n))
        k = cohort.heap[0][0] - cohort.step
        if k > 1:
            k = self._steps_ahead(k, first_s, slope_s)
        span_s = k * first_s + slope_s * (k * (k - 1) // 2)
        while state.now_s + span_s > self._until_s:
            k -= 1
            span_s = k * first_s + slope_s * (k * (k - 1) // 2)
            if not k:
                state.now_s = self._until_s
                return False
        start_s = state.now_s
        state.now_s = end_s = start_s + span_s
        told_s = slope_s
        if state.late or state.last_decode_s != start_s:
            self._gaps(n, start_s + first_s)
            told_s = math.nan
            if k > 1:
                self._tape.gaps.extend(pack_gap(first_s + slope_s, slope_s, k - 1, n))
        state.last_decode_s = end_s
        used = self._n_blocks - state.free
        self._write(
            pack_run(
                start_s, end_s, context, 0.0, told_s,
                k, n, 0, 0, n, state.line.n, state.n_running, used,
            )
        )  # fmt: skip
        if self._outlook is not None:
            self._outlook.advance(k - 1)
        if k > 1:
            state.free -= cohort.blocks_in(k) - cohort.offsets[cohort.step % self._block_tokens]
        if cohort.advance(k):
            for job in cohort.leave():
                self._finish(job, end_s)
        return True

    def _steps_ahead(self, k: int, first_s: float, slope_s: float) -> int:
        """At most ``k`` steps: until something arrives or expires, or blocks run out; at least one."""
        state, cohort = self._state, self._cohort
        if self._line_moves and state.may_admit():
            k = min(k, state.line.steady_steps())
        if self._outlook is not None and k > 1 and state.may_admit():
            k = self._outlook.closed_steps(head := state.line.head(), state.free - state.demand(head), k)
        until_s = state.inflow.next_s - SAME_MOMENT_S
        if state.expiries and state.expiries[0][0] < until_s:
            until_s = state.expiries[0][0]
        if self._until_s < until_s:
            until_s = self._until_s
        left_s = until_s - state.now_s
        if k * first_s + slope_s * (k * (k - 1) // 2) > left_s:
            k = steps_until(left_s, first_s, slope_s)
            if k == 1:
                return 1
        spare = state.free + cohort.offsets[cohort.step % self._block_tokens] - state.kept_free
        if cohort.size * (k // self._block_tokens + 1) > spare:
            k = min(k, max(cohort.steps_within(max(spare, 0)), 1))
        return k
