"""One scheduling pass of the reference engine: shedding and admission, on top of the running jobs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ._running import RunningPass
from ._state import State
from .job import Job, JobView, moment
from .policies import JudgingAccount

__all__ = ["SchedulingPass"]


class _Offer(NamedTuple):
    """What a job would get, or the first gate that is closed for it (slots, tokens or blocks)."""

    closed: str
    hit: list[int]
    n_tokens: int


class SchedulingPass(RunningPass):
    """`sim.plan.View` and `sim.plan.PlanBuilder` in one."""

    def __init__(self, state: State, now_s: float) -> None:
        super().__init__(state, now_s)
        self._admitted: set[Job] = set()
        self._being_computed: set[int] = set()  # first missing block keys of jobs admitted in this pass

    def shed(self) -> None:
        """Reject or demote waiting jobs without output that must be late."""
        action, queue = self._policy.shed.action, self._state.waiting
        if action == "none":
            return
        for job in queue.undemoted():
            if job.n_outputs or math.isinf(job.deadline_s):
                continue
            if not self._policy.shed.is_late(job, self.now_s, self.alone_s(job)):
                continue
            if action == "reject":
                queue.remove(job, is_admitted=False)
                self._give_up(job, "shed")
            else:
                queue.demote(job)
                self._note("demote", job)

    def admit(self, job: JobView, *, whole: bool = False) -> bool:
        """A waiting job, if every gate is open."""
        own = self._own(job)
        if self.n_preempted or self._state.swapped:
            return False
        if self._policy.on_unfit == "head" and self._never_fits(own, whole):
            self._state.waiting.remove(own, is_admitted=False)
            self._give_up(own, "reject")
            return True
        if self._policy.in_batch == "skip" and self._first_missing(own) in self._being_computed:
            return True
        offer = self._offer(own, whole)
        if offer.closed in ("slots", "blocks") and self._policy.priority_preempt == "on_arrival":
            offer = self._make_room(own, whole, offer)
        if offer.closed:
            return False
        self._enter(own, offer)
        return True

    def _never_fits(self, job: Job, whole: bool) -> bool:
        n_blocks = self._state.replica.n_blocks
        room = n_blocks - self._policy.watermark_blocks(n_blocks)
        too_long = whole and job.known_tokens > self._policy.budget_tokens
        return too_long or self._memory.blocks_for(job.known_tokens) > room

    def _first_missing(self, job: Job) -> int | None:
        """Key of the first full block that is not cached; None if there is none."""
        keys = self._state.block_keys(job)
        n_hit = len(self._state.hit(job))
        return keys[n_hit] if n_hit < len(keys) else None

    def _offer(self, job: Job, whole: bool, leaving: Sequence[Job] = ()) -> _Offer:
        """What ``job`` would get if the running jobs ``leaving`` were preempted first."""
        policy, memory = self._policy, self._memory
        n_running = len(self._state.running) - len(leaving)
        if n_running >= policy.max_seqs:
            return _Offer("slots", [], 0)
        hit = self._state.hit(job)
        hit_tokens = self._reused_tokens(job, hit)
        missing = job.known_tokens - hit_tokens
        budget = self.budget_left_tokens + sum(self.tokens.get(other, 0) for other in leaving)
        prompts = sum(self.tokens.get(other, 0) for other in leaving if other.is_prefilling)
        limit = policy.long_prefill_threshold_tokens
        n = min(missing, limit) if limit else missing
        most = self._cut(min(budget, self.prompts_left_tokens + prompts))
        if most <= 0 or (whole and n > most and not self._may_be_cut(job)):
            return _Offer("tokens", [], 0)
        n = min(n, most)
        end = hit_tokens + n
        if self._judge is not None:
            return self._judged(job, self._judge, _Offer("", hit, n), leaving)
        wanted = max(policy.admission.tokens(job, end), self._taken_tokens(job, end))
        gone = memory.references(other.position for other in leaving) if leaving else None
        free = memory.n_free - self._kept_blocks(leaving) + (memory.freed_by(gone) if gone else 0)
        spare = free - memory.demand(hit, wanted, gone) - self._watermark_blocks(n_running)
        if spare < 0 or not self._leaves_room(wanted, spare, leaving):
            return _Offer("blocks", [], 0)
        return _Offer("", hit, n)

    def _judged(self, job: Job, account: JudgingAccount, offer: _Offer, leaving: Sequence[Job]) -> _Offer:
        """The offer to a job if an account with its own rule lets it in."""
        memory, others = self._memory, [other for other in self._weighed() if other not in leaving]
        gone = memory.references(other.position for other in leaving)
        free = memory.n_free + memory.freed_by(gone)
        reused = self._reused_tokens(job, offer.hit)
        chunk = (reused, reused + offer.n_tokens)
        fits = memory.demand(offer.hit, self._taken_tokens(job, chunk[1]), gone) <= free
        room = self._room_tokens(account, free)
        is_open = fits and account.leaves_room(job, others, chunk=chunk, free_tokens=room)
        return offer if is_open else _Offer("blocks", [], 0)

    def _leaves_room(self, wanted_tokens: int, spare_blocks: int, leaving: Sequence[Job]) -> bool:
        """Whether what the running jobs are expected to need, and a block, stay free beside a newcomer."""
        account, size = self._state.account, self._memory.block_tokens
        others = [job for job in self._state.running if job not in leaving]
        if account is None or not others:
            return True
        spare_tokens = spare_blocks * size + -wanted_tokens % size
        return size + account.kept_tokens(others) < spare_tokens

    def _may_be_cut(self, job: Job) -> bool:
        """A preempted job may have outgrown the budget for whole prompts; it must not wait for ever."""
        outgrown = job.n_outputs > 0 and job.known_tokens > self._policy.budget_tokens
        return outgrown and self._policy.on_unfit == "arrival"

    def _taken_tokens(self, job: Job, end_tokens: int) -> int:
        """Tokens for which blocks are taken at admission."""
        return self._stored(job, job.known_tokens if self._policy.prefill_alloc == "full" else end_tokens)

    def _kept_blocks(self, leaving: Sequence[Job]) -> int:
        """Blocks that running jobs were promised and have not taken."""
        gate, memory = self._policy.admission, self._memory
        if not gate.reserves:
            return 0
        return sum(
            max(memory.blocks_for(gate.tokens(job, job.computed_tokens)) - memory.n_held(job.position), 0)
            for job in self._state.running
            if job not in leaving
        )

    def _make_room(self, job: Job, whole: bool, closed: _Offer) -> _Offer:
        """Evict the fewest strictly less important running jobs with which all gates open, or nobody."""
        victims = [
            other
            for other in self._state.running
            if other.priority > job.priority and other not in self._admitted
        ]
        victims.sort(key=lambda other: (-other.priority, -moment(other.arrival_s), -other.position))
        for n in range(1, len(victims) + 1):
            if not self._offer(job, whole, victims[:n]).closed:
                for victim in victims[:n]:
                    self._preempt(victim)
                return self._offer(job, whole)
        return closed

    def _enter(self, job: Job, offer: _Offer) -> None:
        state, memory = self._state, self._memory
        if self._policy.in_batch == "skip" and (key := self._first_missing(job)) is not None:
            self._being_computed.add(key)
        hit_tokens = self._reused_tokens(job, offer.hit)
        self._reused_blocks += memory.demand(offer.hit, 0) + len(offer.hit)
        memory.open(job.position, offer.hit, self._taken_tokens(job, hit_tokens + offer.n_tokens))
        state.waiting.remove(job, is_admitted=True)
        state.running.append(job)
        self._admitted.add(job)
        self.cached[job] = hit_tokens
        job.computed_tokens = hit_tokens
        job.is_prefilling = len(offer.hit) * memory.block_tokens < job.known_tokens
        job.expected_tokens += job.lost_tokens - hit_tokens
        job.recomputed_tokens += max(job.lost_tokens - hit_tokens, 0)
        if math.isnan(job.first_scheduled_s):
            job.first_scheduled_s = max(self.now_s, job.arrival_s)
            job.cached_tokens = len(offer.hit) * memory.block_tokens
        else:
            self._note("resume", job, hit_tokens)
        job.lost_tokens = 0
        self._plan(job, offer.n_tokens)
