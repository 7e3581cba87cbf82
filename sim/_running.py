"""Running jobs in a pass: their tokens, shortage of blocks, preemption, the way back from the host."""

from __future__ import annotations

from ._state import State
from ._view import PassView
from .job import Job, JobView
from .policies import JudgingAccount

__all__ = ["RunningPass"]

_PATIENCE = 20  # preemptions of each job inside, without a token sampled, before a live-lock is stated


class RunningPass(PassView):
    """The primitives for jobs that hold, or held, blocks; each is applied at once."""

    def __init__(self, state: State, now_s: float) -> None:
        super().__init__(state, now_s)
        self._is_conservative = state.policy.append_rule == "conservative"
        self._reused_blocks = 0  # that were free when this pass began

    def continue_running(self) -> None:
        """All running jobs that are not in the step yet, in order of admission.

        Unfinished prompts that an account must let go on are left to the composition.
        """
        if self._policy.victim.whole_batch:
            self._retract()
        lost = self.preempted
        for job in self.running:
            if job in self.tokens or (lost and job in lost) or (self._judge and job.is_prefilling):
                continue
            if not self._run(job):
                break
        if self._state.account:
            self._state.account.continued(self.running, is_short=self.n_preempted > 0)

    def run(self, job: JobView) -> bool:
        """One running job."""
        own = self._own(job)
        if own not in self._state.running:
            raise self._error(own, "is to run, but is not running")
        if own in self.tokens:
            raise self._error(own, "is to run twice in one step")
        return self._run(own)

    def _run(self, job: Job) -> bool:
        n = self._chunk(job)
        if n <= 0 or not self._lets_continue(job, n):
            return False
        memory, end = self._memory, self._stored(job, job.computed_tokens + n)
        needed = -(-end // memory.block_tokens) - memory.n_held(job.position)
        asked = max(needed, 1) if self._is_conservative else needed
        while asked > 0 and asked > memory.n_free:
            victim = self._policy.victim.choose(self._state.running)
            self._preempt(victim)
            self.n_preempted += 1
            if victim is job:
                return False
        if needed > 0:
            memory.extend(job.position, job.computed_tokens, end)
        self._plan(job, n)
        return True

    def _lets_continue(self, job: Job, n_tokens: int) -> bool:
        """Whether an account with its own rule of room lets an unfinished prompt go on; alone it may."""
        account = self._judge
        if account is None or not job.is_prefilling:
            return True
        others = [other for other in self._weighed() if other is not job]
        chunk = (job.computed_tokens, job.computed_tokens + n_tokens)
        free_tokens = self._room_tokens(account, self._memory.n_free)
        return not others or account.leaves_room(job, others, chunk=chunk, free_tokens=free_tokens)

    def _room_tokens(self, account: JudgingAccount, n_free: int) -> int:
        """What an account takes as free where ``n_free`` blocks are."""
        forgotten = self._reused_blocks if account.forgets_hits else 0
        return (n_free + forgotten) * self._memory.block_tokens

    def _weighed(self) -> list[Job]:
        """Running jobs but for unfinished prompts outside the step: nothing is expected of these yet."""
        return [job for job in self._state.running if job in self.tokens or not job.is_prefilling]

    def _check_progress(self, job: Job) -> None:
        """Jobs that preempt each other, or themselves, while no token comes out will do so for ever."""
        state = self._state
        state.n_barren_preemptions += 1
        if state.n_barren_preemptions > _PATIENCE * (1 + state.n_inside):
            raise self._error(
                job,
                f"goes in and out of memory without end: {state.n_barren_preemptions} preemptions and not a "
                f"token; {state.replica.n_blocks} blocks are too few for this admission rule",
            )

    def _preempt(self, job: Job) -> None:
        """Take the blocks of a running job, and its tokens in this step if it has any."""
        state = self._state
        self._check_progress(job)
        self._spend(job, -self.tokens.pop(job, 0))
        state.running.remove(job)
        job.n_preemptions += 1
        self.preempted.append(job)
        fits_host = self._memory.n_held(job.position) <= state.free_swap_blocks
        n_blocks = self._memory.close(job.position)
        if self._policy.preemption == "swap" and fits_host:
            state.swapped.append((job, n_blocks))
            self.swapped_out[job] = n_blocks
            self._note("swap_out", job, n_blocks)
            return
        job.lost_tokens = job.computed_tokens
        job.computed_tokens = 0
        job.is_prefilling = True
        self._note("preempt", job)

    def _retract(self) -> None:
        """Preempt until the whole batch finds its blocks; the last job is given up if even it does not."""
        running = self._state.running
        while running and self._batch_need() > self._memory.n_free:
            if len(running) == 1:
                job = running.pop()
                self.tokens.pop(job, None)
                self._memory.close(job.position)
                self._give_up(job, "abort")
                return
            self._preempt(self._policy.victim.choose(running))
            self.n_preempted += 1

    def _batch_need(self) -> int:
        """Blocks that the running jobs which are not in the step yet need for their next tokens."""
        left, need = self.budget_left_tokens, 0
        for job in self._state.running:
            if job not in self.tokens and not (self._judge and job.is_prefilling):
                n = min(self._chunk(job), left)
                left -= n
                end = self._stored(job, job.computed_tokens + n)
                need += max(self._memory.blocks_for(end) - self._memory.n_held(job.position), 0)
        return need

    def swap_in(self) -> None:
        """Jobs on the host, first out first in, each with its next tokens; not after a preemption."""
        state, memory = self._state, self._memory
        while state.swapped and not self.n_preempted and len(state.running) < self._policy.max_seqs:
            job, n_moved = state.swapped[0]
            n = self._chunk(job)
            needed = memory.blocks_for(job.computed_tokens + n)
            if n <= 0 or needed + self._watermark_blocks(len(state.running)) > memory.n_free:
                return
            state.swapped.popleft()
            memory.open(job.position, [], job.computed_tokens + n)
            state.running.append(job)
            self.swapped_in[job] = n_moved
            self._note("swap_in", job, n_moved)
            self._plan(job, n)
