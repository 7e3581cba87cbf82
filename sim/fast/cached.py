"""The state of a run of the fast engine with a prefix cache."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush

from qtheory.system.workload.request import Requests
from sim.job import SAME_MOMENT_S
from sim.policies import Policy, PrefillFirst, PrefillFirstChunked, alone_s
from sim.record import Status
from sim.replica import Replica

from .cache import Cache, Hit
from .cohort import Cohort
from .inflow import Inflow
from .job import FastJob
from .line import FOR_EVER
from .lines import by_prefix, line_of
from .meter import Meter
from .outlook import outlook_of
from .prefix_line import PrefixLine
from .slack import slack_of
from .state import State
from .tape import Tape
from .tree import Node

__all__ = ["CachedState"]


class _Cohort(Cohort):
    """A cohort whose members write where others may look."""

    __slots__ = ("cache",)

    def __init__(self, block_tokens: int) -> None:
        super().__init__(block_tokens)
        self.cache = Cache(self, block_tokens)

    def join(self, job: FastJob) -> None:
        """Let ``job`` decode from the next step on."""
        super().join(job)
        self.cache.enrol(job)

    def leave(self) -> list[FastJob]:
        """Take out the members that have all their outputs, in order of admission."""
        return sorted(super().leave(), key=lambda job: job.rank)

    def remove(self, jobs: set[FastJob]) -> None:
        """Take out members before they finish."""
        for job in jobs:
            self.cache.stand_still(job)
        super().remove(jobs)


class CachedState(State):
    """A state in which blocks are shared; those that are cached and idle count as free."""

    __slots__ = ("_decodes_first", "_n_shared", "_publishes_plans", "_skips", "cache")

    def __init__(
        self, requests: Requests, policy: Policy, replica: Replica, inflow: Inflow, tape: Tape | Meter
    ) -> None:
        super().__init__(requests, policy, replica, inflow, tape)
        self.cohort = cohort = _Cohort(replica.block_tokens)
        self.cache = cohort.cache
        self.slack = slack_of(requests, policy, cohort)
        self.outlook = outlook_of(policy, cohort)
        line = by_prefix(policy, cohort.cache, replica.block_tokens, self._rest_alone_s)
        self.line = line or line_of(policy, cohort, self.alone_s)
        self._publishes_plans = policy.cache_commit == "schedule"
        self._decodes_first = type(policy.composition) not in (PrefillFirst, PrefillFirstChunked)
        self._skips = policy.in_batch == "skip"
        self._n_shared = 0  # blocks in the tables of running jobs, beyond those in use

    def visit(self, planned: Mapping[FastJob, int] | None) -> None:
        """The running jobs are visited one by one, and planned."""
        self.cache.planned = planned if self._publishes_plans else None

    def release(self, job: FastJob, n_blocks: int, n_planned: int = 0) -> None:
        """A running job gives its blocks back."""
        n_tokens = job.computed_tokens + (n_planned if self._publishes_plans else 0)
        self._release(job, n_blocks, n_tokens, may_return=True)
        if self.reserves:
            self.unpromise(job)

    def finish(self, job: FastJob) -> None:
        """A job that has all its outputs gives its blocks back."""
        held = self._blocks_for(job.computed_tokens)
        self._release(job, max(held, job.taken_blocks), job.computed_tokens, may_return=False)

    def _release(self, job: FastJob, n_blocks: int, n_tokens: int, *, may_return: bool) -> None:
        self.cache.settle(self.free)
        n_shared = self.cache.release(job, n_tokens // self.block_tokens, may_return=may_return)
        self._n_shared -= n_shared
        self.free += n_blocks - n_shared
        self.n_running -= 1

    # ---- what is published

    def publish_plan(self, *, decodes: bool) -> None:
        """What the next step computes is found from now on, if plans are published."""
        if self._publishes_plans:
            self.cache.ahead = int(decodes)
            for job, n in self.chunks:
                if job.node is not None and job.n_listed < job.node.end:
                    self.cache.publish(job, (job.computed_tokens + n) // self.block_tokens)

    def publish(self, job: FastJob) -> None:
        """What a prompt has computed is found from now on."""
        self.cache.publish(job, job.computed_tokens // self.block_tokens)

    # ---- what waits while the cohort decodes

    def steady_steps(self) -> int:
        """Steps, at least one, by which no gate can open for those that wait."""
        if isinstance(self.line, PrefixLine):
            return self._steps_to_loss()
        job = self.line.head()
        path = job.node.path if job.node is not None else ()
        if any(part.writers for part in path):
            return 1
        twins = [part.copies for part in path if len(part.copies) > 1]
        if twins or (job.leaf is not None and len(job.leaf.copies) > 1):
            return self._steps_to_loss()  # an idle copy may give way to one in use, which costs less
        return FOR_EVER

    def _steps_to_loss(self) -> int:
        """Steps, at least one, by which nothing is lost that a waiting job may look for."""
        cohort = self.cohort
        spare = self.cache.steady_blocks(self.free) + cohort.offsets[cohort.step % self.block_tokens]
        return max(cohort.steps_within(max(spare, 0)), 1)

    def demand(self, job: FastJob) -> int:
        """Blocks that must be free to let a job in beside others."""
        _, n_hit, n_idle = self.cache.match(job)
        return super().demand(job) - n_hit + n_idle

    # ---- deadlines

    def shed(self) -> None:
        """Give up, or put behind all others, waiting jobs whose first token must be late.

        The moments of the heap are those without anything cached; past it, each pass looks at what there is.
        """
        expiries, now_s = self.expiries, self.now_s
        self.cache.settle(self.free)
        past: dict[FastJob, None] = {}
        while expiries and expiries[0][0] < now_s:
            job = heappop(expiries)[1]
            if job.is_waiting and not job.is_demoted and not job.n_outputs:
                past[job] = None
        late = []
        for job in past:
            if self._expiry_s(job) < now_s:
                late.append(job)
            else:
                heappush(expiries, (job.expiry_s, job))
        if self.policy.shed.action != "reject":
            self.line.demote(late)
            return
        for job in late:
            self.line.drop(job)
            self.end(job, Status.SHED, now_s)
            self.gave_up = True

    def _expiry_s(self, job: FastJob) -> float:
        n_cached = self.cache.match(job)[1] * self.block_tokens
        if not n_cached:
            return job.expiry_s
        return job.deadline_s + SAME_MOMENT_S - self._rest_alone_s(job.known_tokens - n_cached, n_cached)

    def _rest_alone_s(self, n_tokens: int, n_cached: int) -> float:
        """Seconds until a prompt gives its first token if what is not cached of it is computed alone."""
        if not n_cached:
            return self.alone_s(n_tokens)
        return alone_s(
            self.replica.step_time,
            context_tokens=n_cached,
            n_tokens=n_tokens,
            budget_tokens=self.budget_tokens,
        )

    # ---- admission

    def admit(self, room: int, *, is_whole: bool) -> None:
        """Let waiting jobs in, in order, up to ``room`` tokens or the first that finds a gate closed."""
        self.publish_plan(decodes=self._decodes_first)
        self.cache.settle(self.free)
        self.line.begin_pass()
        if self.outlook is not None:
            self.outlook.begin_pass(self.unfinished())
        passed: list[FastJob] = []  # what they miss is being computed
        computing: set[tuple[Node, int]] = set()
        while True:
            self.cache.settle(self.free)
            if self.rejects_at_head:
                self._reject_heads(is_whole)
            is_full = room <= 0 or self.n_running >= self._max_seqs
            if not self.line.n or (is_full and not computing):
                break
            job = self.line.head()
            hit = self.cache.match(job)
            missing = self._first_missing(job, hit[1]) if self._skips else None
            if missing in computing:
                passed.append(self.line.pop(is_admitted=False))
                continue
            n = 0 if is_full else self._enter(job, hit, room, is_whole)
            if not n or (self._stops_at_cut and job is self.tail):
                break
            room -= n
            if missing is not None:
                computing.add(missing)
        self.cache.ahead = 0
        for job in reversed(passed):
            self.line.rejoin(job)

    def _first_missing(self, job: FastJob, at: int) -> tuple[Node, int] | None:
        """The first full block that is not in memory, if others may have it."""
        if job.node is None or at >= job.node.end or at >= job.known_tokens // self.block_tokens:
            return None
        return next(node for node in job.node.path if at < node.end), at

    def _enter(self, job: FastJob, hit: Hit, room: int, is_whole: bool) -> int:
        """Let a job in if every gate is open; the tokens that it computes, 0 if one is closed."""
        cache, known, bt = self.cache, job.known_tokens, self.block_tokens
        _, n_hit, n_idle = hit
        start = n_hit * bt
        n = known - start
        if n > room:
            if is_whole and not self.may_be_cut(job):
                return 0
            n = room
        end = start + n
        taken = -(-(known if self._takes_all else end) // bt)
        charged = -(-(known if self._charges_known else self._charge(job, end)) // bt)
        wanted = (charged if charged > taken else taken) - n_hit + n_idle
        if self._watermark and (self.n_running or self._always_marks):
            wanted += self._watermark
        if self.reserves:
            wanted += self.promised - (self._n_blocks - self.free + self._n_shared)
        if wanted > self.free:
            return 0
        if self.outlook is not None and not self.outlook.lets_in(job, self.free - wanted, self.n_running):
            return 0
        if self.reserves:
            self.promised += charged
        self.line.pop()
        cache.share(job, hit)
        self.free -= taken - n_hit + n_idle
        self._n_shared += n_hit - n_idle
        job.taken_blocks = taken
        self._note_entry(job, start)
        self.chunks.append((job, n))
        if end < known:
            self.tail = job
        if self._publishes_plans:
            cache.publish(job, end // bt)
        return n

    def _note_entry(self, job: FastJob, n_cached: int) -> None:
        self.n_running += 1
        job.computed_tokens = n_cached
        if job.rank:
            job.recomputed_tokens += max(job.lost_tokens - n_cached, 0)
        else:
            job.first_scheduled_s = max(self.now_s, job.arrival_s)
            job.cached_tokens = n_cached
        self.n_admitted = job.rank = self.n_admitted + 1
