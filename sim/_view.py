"""The view of a pass over the state of the reference engine, and what all its parts share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from qtheory.basics.errors import PlanError

from ._state import State
from .job import Job, JobView
from .observe import Event
from .policies import alone_s, slack_tokens

__all__ = ["PassView"]


class PassView:
    """`sim.plan.View`, with the record of what the pass has done so far."""

    def __init__(self, state: State, now_s: float) -> None:
        self.now_s = now_s
        self.budget_left_tokens = self.prompts_left_tokens = state.policy.budget_tokens
        self.tokens: dict[Job, int] = {}
        self.cached: dict[Job, int] = {}
        self.preempted: list[Job] = []
        self.swapped_out: dict[Job, int] = {}
        self.swapped_in: dict[Job, int] = {}
        self.given_up: list[tuple[Job, str]] = []
        self.events: list[Event] = []
        self.n_preempted = 0
        self._state = state
        self._policy = state.policy
        self._memory = state.memory
        self._judge = state.judge
        if state.policy.chunk_size == "slack":
            self.prompts_left_tokens = self._slack_tokens()

    @property
    def waiting(self) -> Iterator[Job]:
        """Waiting jobs in the order of the policy."""
        return self._state.waiting.in_order(self)

    @property
    def running(self) -> Sequence[Job]:
        """Running jobs as they are now."""
        return tuple(self._state.running)

    @property
    def n_swapped(self) -> int:
        """Jobs on the host."""
        return len(self._state.swapped)

    @property
    def n_free_blocks(self) -> int:
        """Free blocks."""
        return self._memory.n_free

    @property
    def block_tokens(self) -> int:
        """Tokens of a block."""
        return self._memory.block_tokens

    @property
    def has_prefix_cache(self) -> bool:
        """Whether prefixes are found."""
        return self._memory.prefix_cache

    @property
    def is_empty(self) -> bool:
        """Whether nothing is computed so far."""
        return not self.tokens

    def block_keys(self, job: JobView) -> Sequence[int]:
        """Keys of the full blocks of its known tokens."""
        return self._state.block_keys(job)

    def text(self, job: JobView) -> tuple[str, Sequence[int]]:
        """Cache salt and numbers of its known tokens."""
        return self._state.text(job)

    def cached_tokens(self, job: JobView) -> int:
        """Known tokens that would be reused now."""
        return self._reused_tokens(job, self._state.hit(job))

    def alone_s(self, job: JobView) -> float:
        """Seconds until its next token if it were served alone from now on, in chunks of the whole budget."""
        own, hit = self._own(job), self.cached_tokens(job)
        if own.alone_tokens != (own.known_tokens, hit):
            own.alone_tokens = own.known_tokens, hit
            own.alone_s = alone_s(
                self._state.replica.step_time,
                context_tokens=hit,
                n_tokens=own.known_tokens - hit,
                budget_tokens=self._policy.budget_tokens,
            )
        return own.alone_s

    def _slack_tokens(self) -> int:
        """Prompt tokens with which the running decodes get their next tokens in time."""
        decodes = [job for job in self._state.running if not job.is_prefilling]
        unfinished = [job for job in self._state.running if job.is_prefilling]
        due_s = [
            job.first_token_s + job.n_outputs * job.tpot_slo_s for job in decodes if job.tpot_slo_s < math.inf
        ]
        return slack_tokens(
            self._state.replica.step_time,
            n_decodes=len(decodes),
            context_tokens=sum(job.known_tokens for job in decodes),
            before_tokens=unfinished[0].computed_tokens if unfinished else 0,
            slack_s=min(due_s, default=math.inf) - self.now_s,
            block_tokens=self.block_tokens,
            budget_tokens=self._policy.budget_tokens,
        )

    def _reused_tokens(self, job: JobView, hit: Sequence[int]) -> int:
        """Tokens that are not computed; the last known one always is, if only to give the next."""
        return min(len(hit) * self._memory.block_tokens, job.known_tokens - 1)

    def is_cut(self, job: JobView) -> bool:
        """Whether the job is in the step, but not complete after it."""
        own = self._own(job)
        return own in self.tokens and self.tokens[own] < own.missing_tokens

    def _chunk(self, job: Job) -> int:
        """Tokens of one job under its own limit and the budget that is left."""
        missing, left = job.missing_tokens, self.budget_left_tokens
        limit = self._policy.long_prefill_threshold_tokens
        n = min(missing, limit) if limit else missing
        if job.is_prefilling:
            left = min(left, self.prompts_left_tokens)
        return min(n, left if missing == 1 else self._cut(left))

    def _cut(self, n_tokens: int) -> int:
        """Tokens of a prompt of which the budget leaves ``n_tokens``."""
        size = self._memory.block_tokens if self._policy.budget_unit == "block" else 1
        return n_tokens - n_tokens % size

    def _charge(self, job: Job, n_tokens: int) -> int:
        """What ``n_tokens`` of a job take from the budget."""
        if self._policy.budget_unit == "token" or not job.is_prefilling:
            return n_tokens
        return self._memory.blocks_for(n_tokens) * self._memory.block_tokens

    def _spend(self, job: Job, n_tokens: int) -> None:
        """Take ``n_tokens`` of a job from what is left, or give them back if they are below zero."""
        charge = self._charge(job, abs(n_tokens))
        self.budget_left_tokens -= charge if n_tokens > 0 else -charge
        if job.is_prefilling:
            self.prompts_left_tokens -= n_tokens

    def _stored(self, job: JobView, end_tokens: int) -> int:
        """Tokens for which a job takes places, if its step ends after ``end_tokens``."""
        if end_tokens != job.known_tokens or (
            job.is_prefilling and self._policy.first_place == "after_prompts"
        ):
            return end_tokens
        return end_tokens + self._policy.lookahead_tokens

    def _plan(self, job: Job, n_tokens: int) -> None:
        self.tokens[job] = n_tokens
        self._spend(job, n_tokens)
        if self._policy.cache_commit == "schedule":
            self._state.publish(job, job.computed_tokens + n_tokens)

    def _watermark_blocks(self, n_running: int) -> int:
        """Blocks that stay free when a job comes in while ``n_running`` others run."""
        if self._policy.watermark_scope == "busy" and n_running == 0:
            return 0
        return self._policy.watermark_blocks(self._state.replica.n_blocks)

    def _give_up(self, job: Job, how: str) -> None:
        self.given_up.append((job, how))
        self._note(how, job)

    def _note(self, kind: str, job: Job, value: int = 0) -> None:
        self.events.append(Event(self.now_s, kind, job.position, value))

    def _own(self, job: JobView) -> Job:
        if not isinstance(job, Job):
            raise PlanError(f"policy {self._policy.name!r}: {job!r} is not a job of this replica")
        return job

    def _error(self, job: Job, what: str) -> PlanError:
        return PlanError(f"policy {self._policy.name!r}: request {job.position} {what}")
