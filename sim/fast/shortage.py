"""Too few free blocks for a step: the one place where the fast engine visits the running jobs one by one."""

from __future__ import annotations

from qtheory.basics.errors import PlanError
from sim.record import Status

from .job import FastJob
from .state import State

__all__ = ["continue_running", "run_tail"]

_PATIENCE = 20  # preemptions of each job inside, without a token sampled, before a live-lock is stated


def continue_running(state: State) -> int:
    """Blocks for the next step of every running job, preempting where there are too few.

    Puts the tail into ``chunks``; returns how many members of the cohort decode.
    """
    n = _continue_running(state)
    if state.outlook is not None and state.n_running:
        inside = [*state.cohort.members(), *state.stalled, *state.unfinished()] if state.preempted else None
        state.outlook.continued(inside)
    return n


def run_tail(state: State) -> None:
    """Blocks for the next tokens of the tail, which goes into ``chunks``; all else stands still."""
    tail = state.tail
    if tail is None:
        return
    n = min(tail.known_tokens - tail.computed_tokens, state.budget_tokens, state.most_prompt)
    wanted = -(-(tail.computed_tokens + n) // state.block_tokens) - tail.taken_blocks
    if max(wanted, state.kept_free) > state.free:
        _Walk(state).run_tail()
        return
    wanted = max(wanted, 0)
    state.free -= wanted
    tail.taken_blocks += wanted
    state.chunks.append((tail, n))


def _continue_running(state: State) -> int:
    cohort, tail, free = state.cohort, state.tail, state.free
    if state.overtaken:
        return _Walk(state).run()
    n = cohort.size
    need = cohort.offsets[cohort.step % state.block_tokens]
    if tail is None:
        if need + state.kept_free > free:
            return _Walk(state).run()
        state.free = free - need
        return n
    n_tokens = min(tail.known_tokens - tail.computed_tokens, state.budget_tokens - n, state.most_prompt)
    wanted = -(-(tail.computed_tokens + n_tokens) // state.block_tokens) - tail.taken_blocks
    if wanted < 0:
        wanted = 0
    if need + wanted + state.kept_free > free:
        return _Walk(state).run()
    state.free = free - need - wanted
    tail.taken_blocks += wanted
    state.chunks.append((tail, n_tokens))
    return n


class _Walk:
    """The running jobs in order of admission, each finding its blocks or taking them from a victim."""

    def __init__(self, state: State) -> None:
        self.state = state
        members = state.cohort.members()
        self.decodes = set(members)
        prompts = state.unfinished()
        self.running = sorted(members + prompts, key=lambda job: job.rank)
        self.held = {job: -(-job.computed_tokens // state.block_tokens) for job in members}
        for job in prompts:
            self.held[job] = job.taken_blocks
        self.planned: dict[FastJob, int] = {}
        self.budget = state.budget_tokens

    def run(self) -> int:
        """Walk; returns how many members of the cohort decode."""
        state = self.state
        state.visit(self.planned)
        if state.policy.victim.whole_batch:
            self._retract()
        for job in list(self.running):
            if job in self.held and not self._find_blocks(job):
                break
        gone = {job for job in self.decodes if job not in self.held}
        state.stalled = [job for job in self.running if job in self.decodes and job not in self.planned]
        for job in state.stalled:
            job.last_token_s = state.late.pop(job, state.last_decode_s)
        self._close(gone | set(state.stalled))
        return state.cohort.size

    def run_tail(self) -> None:
        """The tail alone, if it finds its blocks."""
        state = self.state
        state.visit(self.planned)
        if state.tail is not None:
            self._find_blocks(state.tail)
        self._close({job for job in self.decodes if job not in self.held})

    def _close(self, leaving: set[FastJob]) -> None:
        state = self.state
        state.cohort.remove(leaving)
        state.visit(None)
        for job in state.unfinished():
            if job in self.planned:
                job.taken_blocks = self.held[job]
                state.chunks.append((job, self.planned[job]))

    def _tokens(self, job: FastJob, left: int) -> int:
        n = min(job.known_tokens - job.computed_tokens, left)
        return min(n, self.state.most_prompt) if job.is_prefilling else n

    def _needs(self, job: FastJob, n_tokens: int) -> int:
        needed = -(-(job.computed_tokens + n_tokens) // self.state.block_tokens) - self.held[job]
        return max(needed, self.state.kept_free)

    def _find_blocks(self, job: FastJob) -> bool:
        state = self.state
        n = self._tokens(job, self.budget)
        if n <= 0:
            return False
        while self._needs(job, n) > state.free:
            victim = state.policy.victim.choose(self.running)
            self._preempt(victim)
            if victim is job:
                return False
        taken = max(-(-(job.computed_tokens + n) // state.block_tokens) - self.held[job], 0)
        state.free -= taken
        self.held[job] += taken
        self.planned[job] = n
        self.budget -= n
        return True

    def _drop(self, job: FastJob) -> None:
        state = self.state
        self.running.remove(job)
        if job in self.decodes:
            job.last_token_s = state.late.pop(job, state.last_decode_s)
        state.put_aside(job)
        state.release(job, self.held.pop(job), self.planned.get(job, 0))
        self.budget += self.planned.pop(job, 0)

    def _preempt(self, job: FastJob) -> None:
        self._check_progress(job)
        self._drop(job)
        self.state.preempted.append(job)
        job.n_preemptions += 1
        job.lost_tokens = job.computed_tokens
        job.computed_tokens = 0
        job.is_prefilling = True

    def _retract(self) -> None:
        """Preempt until the whole batch finds its blocks; the last one is given up if it does not."""
        state = self.state
        while self.running and self._batch_need() > state.free:
            if len(self.running) == 1:
                job = self.running[0]
                self._drop(job)
                state.end(job, Status.ABORTED, state.now_s)
                state.gave_up = True
                return
            self._preempt(state.policy.victim.choose(self.running))

    def _batch_need(self) -> int:
        left, need = self.state.budget_tokens, 0
        for job in self.running:
            n = self._tokens(job, left)
            left -= n
            end = job.computed_tokens + n
            need += max(-(-end // self.state.block_tokens) - self.held[job], 0)
        return need

    def _check_progress(self, job: FastJob) -> None:
        """Jobs that preempt each other, or themselves, while no token comes out will do so for ever."""
        state = self.state
        state.n_barren += 1
        if state.n_barren > _PATIENCE * (1 + state.n_running + state.line.n + len(state.preempted)):
            raise PlanError(
                f"policy {state.policy.name!r}: request {job.position} goes in and out of memory without "
                f"end: {state.n_barren} preemptions and not a token; {state.replica.n_blocks} blocks are too "
                "few for this admission rule"
            )
