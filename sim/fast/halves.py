"""A loop in two halves: what begins is under way until it is brought to its end."""

from __future__ import annotations

import math

from qtheory.system.steptime import StepLoad

from .fill import Filling
from .loop import Loop
from .state import State
from .steps import bad_seconds, totals
from .tape import pack_gap, pack_run

__all__ = ["DUE", "IDLE", "RUN", "STEP", "Halves"]

DUE, STEP, RUN, IDLE = range(4)
"""A pass is due; a step is under way; a run of steps is; nothing can be done."""


class Halves(Loop):
    """Steps and runs of steps that begin and end, as those of `Loop` happen at once.

    Attributes
    ----------
    phase : int
        What it is doing: `DUE`, `STEP`, `RUN` or `IDLE`.
    next_s : float
        The end of what is under way.
    outside_tokens : int
        Known tokens of all jobs here that do not decode.
    run_under_way : tuple
        Decodes and steps of the run, seconds of its first step and growth from one to the next.
    """

    def __init__(self, state: State, fill: Filling) -> None:
        super().__init__(state, fill, math.inf)
        self.state = state
        self.phase, self.next_s, self.outside_tokens = IDLE, math.inf, 0
        self.run_under_way = (0, 0, 0.0, 0.0)
        self._load: tuple[int, int, int, float, int, int] = (0, 0, 0, 0.0, 0, 0)
        self._found = (0, 0, 0)  # who waited and ran, and blocks in use, when it began

    @property
    def n_decodes(self) -> int:
        """Jobs that decode in the step under way."""
        return self._load[0]

    # ---- one step

    def _begin_step(self, n: int) -> None:
        """A step with prompts, or after a shortage."""
        state = self.state
        chunks, context, n_sampled = state.chunks, self._cohort.context_tokens if n else 0, n
        if len(chunks) == 1:
            job, prefill = chunks[0]
            prefill_context = job.computed_tokens + prefill
            work = prefill * (job.computed_tokens + (prefill + 1) * 0.5)
            if prefill_context == job.known_tokens:
                n_sampled += 1
        else:
            prefill, work, prefill_context, n_sampled = totals(chunks, n)
        self._load = load = (n, context, prefill, work, prefill_context, n_sampled)
        seconds = self._step_s(load)  # type: ignore[arg-type]
        if not 0 < seconds < math.inf:
            raise bad_seconds(seconds, StepLoad(*load))
        self.phase, self.next_s = STEP, state.now_s + seconds
        self._found = state.line.n, state.n_running, self._n_blocks - state.free

    def _end_step(self) -> None:
        state, cohort = self.state, self._cohort
        n, context, prefill, work, prefill_context, n_sampled = self._load
        start_s, end_s, slope_s = state.now_s, self.next_s, math.nan
        state.now_s = end_s
        if n_sampled:
            state.n_barren = 0
        if n:
            if state.late or state.last_decode_s != start_s:
                self._gaps(n, end_s)
            else:
                slope_s = 0.0
            state.last_decode_s = end_s
        self._write(
            pack_run(
                start_s, end_s, context, work, slope_s, 1, n, prefill, prefill_context, n_sampled,
                *self._found,
            )
        )  # fmt: skip
        if n:
            cohort.step = step = cohort.step + 1
            cohort.context_tokens += cohort.size
            if cohort.heap[0][0] <= step:
                for job in cohort.leave():
                    self._finish(job, end_s)
        self._resume_stalled()
        for job, tokens in state.chunks:
            job.computed_tokens += tokens
            if job.computed_tokens == job.known_tokens:
                self.outside_tokens -= job.known_tokens
                self._sample(job, end_s)
        state.chunks.clear()

    def _resume_stalled(self) -> None:
        stalled = self.state.stalled
        if stalled:
            self.outside_tokens -= sum(job.known_tokens for job in stalled)
            self.state.resume_stalled()

    # ---- a run of steps

    def _begin_run(self, n: int) -> None:
        state, cohort = self.state, self._cohort
        try:
            line = self._lines[n]
        except KeyError:
            line = self._lines[n] = self._decode_line(n)
        if line is None:
            self._begin_step(n)
            return
        context, (base_s, per_token_s) = cohort.context_tokens, line
        first_s, slope_s = base_s + per_token_s * context, per_token_s * n
        if not (0 < first_s < math.inf and slope_s >= 0):
            raise bad_seconds(first_s, StepLoad(n, context, n_sampled=n))
        k = cohort.heap[0][0] - cohort.step
        if k > 1:
            k = self._steps_ahead(k, first_s, slope_s)
        self.run_under_way = n, k, first_s, slope_s
        self.phase, self.next_s = RUN, state.now_s + (k * first_s + slope_s * (k * (k - 1) // 2))
        self._found = state.line.n, state.n_running, self._n_blocks - state.free

    def _end_run(self) -> None:
        state, cohort = self.state, self._cohort
        n, k, first_s, slope_s = self.run_under_way
        start_s, end_s, told_s = state.now_s, self.next_s, slope_s
        state.now_s = end_s
        if state.late or state.last_decode_s != start_s:
            self._gaps(n, start_s + first_s)
            told_s = math.nan
            if k > 1:
                self._tape.gaps.extend(pack_gap(first_s + slope_s, slope_s, k - 1, n))
        state.last_decode_s = end_s
        self._write(
            pack_run(
                start_s, end_s, cohort.context_tokens, 0.0, told_s, k, n, 0, 0, n, *self._found
            )
        )  # fmt: skip
        if self._outlook is not None:
            self._outlook.advance(k - 1)
        if k > 1:
            state.free -= cohort.blocks_in(k) - cohort.offsets[cohort.step % self._block_tokens]
        if cohort.advance(k):
            for job in cohort.leave():
                self._finish(job, end_s)
