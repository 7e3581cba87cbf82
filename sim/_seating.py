"""Places of first tokens that are looked for when the prompts of a step are computed, not before."""

from __future__ import annotations

from dataclasses import replace

from ._pass import SchedulingPass
from ._state import State
from .job import Job

__all__ = ["SeatingPass"]


class SeatingPass(SchedulingPass):
    """A pass that may end with too few places for the first tokens of its prompts.

    Then all running jobs decode behind the prompts, in the same step, and who has the fewest outputs loses
    its blocks until the others find theirs; a prompt of which this is so was computed in vain.

    Attributes
    ----------
    counted : dict of Job to int
        Copies of jobs with their tokens: prompts computed in vain.
    beside : dict of Job to int
        Copies of jobs whose prompt ends in the step, as decodes.
    """

    def __init__(self, state: State, now_s: float) -> None:
        super().__init__(state, now_s)
        self.counted: dict[Job, int] = {}
        self.beside: dict[Job, int] = {}

    def seat(self) -> None:
        """Find the places of first tokens, if the policy leaves them for now."""
        if self._policy.first_place == "with_prompt":
            return
        new = [job for job, n in self.tokens.items() if job.is_prefilling and n == job.missing_tokens]
        if self._places(new) > self._memory.n_free:
            self._decode_all(new)
        for job in new:
            if job in self.tokens:
                self._memory.extend(job.position, job.known_tokens, self._end(job))

    def _end(self, job: Job) -> int:
        """Tokens for which a job that samples in this step has places after it."""
        return job.known_tokens + self._policy.lookahead_tokens

    def _places(self, jobs: list[Job]) -> int:
        """Blocks that the next tokens of ``jobs`` need."""
        memory = self._memory
        return sum(max(memory.blocks_for(self._end(job)) - memory.n_held(job.position), 0) for job in jobs)

    def _decode_all(self, new: list[Job]) -> None:
        """Everybody decodes for whom there is a place."""
        batch = [job for job in self._state.running if job in new or not job.is_prefilling]
        while len(batch) > 1 and self._places(batch) > self._memory.n_free:
            job = min(batch, key=lambda one: one.n_outputs)
            batch.remove(job)
            if job in new:
                self._lose(job)
            else:
                self._preempt(job)
            self.n_preempted += 1
        for job in batch:
            if job in new:
                self.beside[replace(job, computed_tokens=job.known_tokens - 1, is_prefilling=False)] = 1
            else:
                self._run(job)
        if self._state.account:
            self._state.account.continued(batch, is_short=self.n_preempted > 0)

    def _lose(self, job: Job) -> None:
        """A prompt that was computed in this step is out of memory again, without its token."""
        n = self.tokens[job]
        self.counted[replace(job, known_tokens=job.known_tokens + 1)] = n
        job.computed_tokens += n
        job.total_computed_tokens += n
        self._preempt(job)
