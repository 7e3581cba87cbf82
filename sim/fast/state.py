"""State of a run of the fast engine, and what happens to jobs outside of steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from heapq import heappop, heappush

from qtheory.basics.errors import PlanError
from qtheory.system.workload.request import Requests
from sim.job import SAME_MOMENT_S
from sim.policies import FullPrompt, Policy, PrefillFirstChunked
from sim.record import Status
from sim.replica import Replica

from .alone import Alone
from .cohort import Cohort
from .inflow import Inflow, unfit
from .job import FastJob
from .line import Line
from .lines import line_of
from .meter import Meter
from .outlook import outlook_of
from .slack import slack_of
from .tape import Tape

__all__ = ["State"]


class State:
    """Clock, queues and memory. Blocks are counted, not numbered.

    ``tail`` is the one prompt that is under way and the youngest of the running jobs; ``overtaken`` are those
    under way behind which others came in. ``chunks`` are the prompts of the present step with their tokens.
    ``late`` holds the members of the
    cohort whose last token came at another moment than the end of the cohort's last step. ``most_prompt`` is
    what prompts get of the present step at most.
    """

    __slots__ = (
        "_always_marks", "_charge", "_charges_known", "_cuts_outgrown", "_max_seqs", "_n_blocks", "_sheds",
        "_stops_at_cut", "_takes_all", "_unfit", "_watermark", "alone_s", "block_tokens", "budget_tokens",
        "chunks", "cohort", "expiries", "free", "fresh", "gave_up", "inflow", "kept_free", "last_decode_s",
        "late", "line", "most_prompt", "n_admitted", "n_barren", "n_running", "now_s", "outlook",
        "overtaken", "policy", "preempted", "promised", "rejects_at_head", "replica", "reserves", "slack",
        "stalled", "tail", "tape", "tells_ends",
    )  # fmt: skip

    def __init__(
        self, requests: Requests, policy: Policy, replica: Replica, inflow: Inflow, tape: Tape | Meter
    ) -> None:
        self.policy, self.replica, self.inflow = policy, replica, inflow
        self.now_s = self.last_decode_s = 0.0
        self.block_tokens = replica.block_tokens
        self.budget_tokens = self.most_prompt = policy.budget_tokens
        self.free = replica.n_blocks
        self.promised = 0  # blocks charged to the running jobs by a gate that reserves
        self.n_running = self.n_admitted = 0
        self.tail: FastJob | None = None
        self.overtaken: list[FastJob] = []
        self.chunks: list[tuple[FastJob, int]] = []
        self.preempted: list[FastJob] = []
        self.stalled: list[FastJob] = []  # decodes left out of the present step
        self.gave_up = False
        self.n_barren = 0  # preemptions since a token was last sampled
        self.late: dict[FastJob, float] = {}
        self.cohort = Cohort(replica.block_tokens)
        self.slack = slack_of(requests, policy, self.cohort)
        self.outlook = outlook_of(policy, self.cohort)
        self.reserves = policy.admission.reserves
        self.tells_ends = inflow.hears_ends
        self.kept_free = int(policy.append_rule == "conservative")  # a free block is wanted, needed or not
        self.expiries: list[tuple[float, FastJob]] = []
        self.fresh: list[FastJob] = []  # came in this pass, to be watched if they wait
        self.tape = tape
        self._sheds = policy.shed.action != "none"
        self.alone_s = Alone(replica.step_time, policy.budget_tokens)
        self.line: Line = line_of(policy, self.cohort, self.alone_s)
        self._unfit = unfit(requests, policy, replica).tobytes() if policy.on_unfit == "arrival" else b""
        self._charge = policy.admission.tokens
        self._charges_known = type(policy.admission) is FullPrompt
        self._takes_all = policy.prefill_alloc == "full"
        self.rejects_at_head = policy.on_unfit == "head"
        self._cuts_outgrown = policy.on_unfit == "arrival"
        self._stops_at_cut = isinstance(policy.composition, PrefillFirstChunked)
        self._always_marks = policy.watermark_scope == "always"
        self._watermark = policy.watermark_blocks(replica.n_blocks)
        self._max_seqs, self._n_blocks = policy.max_seqs, replica.n_blocks

    def take_arrivals(self) -> None:
        """Let in what was sent up to now; what can never run is turned away."""
        inflow, until_s = self.inflow, self.now_s + SAME_MOMENT_S
        while inflow.next_s <= until_s:
            job = inflow.take()
            if self._unfit and self._unfit[job.position]:
                self.end(job, Status.REJECTED, job.arrival_s)
                continue
            self.line.join(job)
            if self._sheds and job.deadline_s < math.inf:
                alone_s = self.alone_s(job.known_tokens)
                expiry_s = job.expiry_s = job.deadline_s + SAME_MOMENT_S - alone_s
                if expiry_s < self.now_s:
                    heappush(self.expiries, (expiry_s, job))  # late on arrival
                else:
                    self.fresh.append(job)

    def can_never_run(self, position: int) -> bool:
        """Whether a request is to be turned away as it comes."""
        return bool(self._unfit and self._unfit[position])

    def end(self, job: FastJob, status: Status, at_s: float) -> None:
        """A job has come to its end."""
        self.tape.close(job, status, at_s)
        if self.tells_ends:
            self.inflow.place_free(at_s, job.position)

    def visit(self, planned: Mapping[FastJob, int] | None) -> None:
        """The running jobs are visited one by one, and planned; None: no more."""

    def release(self, job: FastJob, n_blocks: int, n_planned: int = 0) -> None:
        """A running job gives its blocks back, with ``n_planned`` tokens planned for it in this pass."""
        self.free += n_blocks
        self.n_running -= 1
        if self.reserves:
            self.unpromise(job)

    def unpromise(self, job: FastJob) -> None:
        """Blocks that a gate kept for a job are not needed any more."""
        self.promised -= self._blocks_for(self._charge(job, 0))

    def rejoin(self) -> None:
        """Jobs preempted in this pass wait again, the last one first in line."""
        for job in self.preempted:
            self.line.rejoin(job)
            if self._sheds:
                self.fresh.append(job)

    def unfinished(self) -> list[FastJob]:
        """Running jobs with prompts that are under way."""
        return self.overtaken if self.tail is None else [*self.overtaken, self.tail]

    def put_aside(self, job: FastJob) -> None:
        """The prompt of a job, if it is under way, is so no more."""
        if job is self.tail:
            self.tail = None
        elif self.overtaken and job in self.overtaken:
            self.overtaken.remove(job)

    def resume_stalled(self) -> None:
        """Decodes that were left out of a step come back for the next."""
        for job in self.stalled:
            self.late[job] = job.last_token_s
            self.cohort.join(job)
        self.stalled = []

    def leave(self) -> None:
        """The clock has stopped: note how far those inside have come."""
        inside = [*self.line.jobs(), *self.cohort.members(), *self.stalled, *self.unfinished()]
        inside += [job for job, _ in self.chunks]
        for job in dict.fromkeys(inside):
            self.tape.close(job, Status.UNFINISHED, math.nan)

    def stuck(self) -> PlanError:
        """The error for a run in which nothing will ever happen again."""
        name = self.line.head().position if self.line.n else "in the batch"
        return PlanError(
            f"policy {self.policy.name!r}: nothing runs and request {name} waits for ever: "
            "no gate will ever open for it"
        )

    # ---- deadlines

    def watch(self) -> None:
        """Note when those that came in this pass, and still wait, will be late."""
        for job in self.fresh:
            if job.is_waiting and not job.n_outputs and not job.is_demoted and job.expiry_s < math.inf:
                heappush(self.expiries, (job.expiry_s, job))
        self.fresh.clear()

    def shed(self) -> None:
        """Give up, or put behind all others, waiting jobs whose first token must be late."""
        expiries, now_s, is_final = self.expiries, self.now_s, self.policy.shed.action == "reject"
        late: dict[FastJob, None] = {}
        while expiries and expiries[0][0] < now_s:
            job = heappop(expiries)[1]
            if job.is_waiting and not job.is_demoted and not job.n_outputs:
                late[job] = None
        if not is_final:
            self.line.demote(list(late))
            return
        for job in late:
            self.line.drop(job)
            self.end(job, Status.SHED, now_s)
            self.gave_up = True

    # ---- admission

    def may_admit(self) -> bool:
        """Whether a gate may open, or a job be turned away, while nothing but the cohort runs."""
        return self.line.n > 0 and (self.n_running < self._max_seqs or self.rejects_at_head)

    def demand(self, job: FastJob) -> int:
        """Blocks that must be free to let a job in beside others."""
        return self._blocks_for(self._charge(job, 0)) + self._watermark

    def admit(self, room: int, *, is_whole: bool) -> None:
        """Let waiting jobs in, in order, up to ``room`` tokens or the first that finds a gate closed."""
        line, bt, max_seqs, now_s = self.line, self.block_tokens, self._max_seqs, self.now_s
        rejects, outlook = self.rejects_at_head, self.outlook
        if rejects or outlook is not None:
            self._begin_admission(is_whole)
        while room > 0 and line.n and self.n_running < max_seqs:
            job = line.head()
            known = job.known_tokens
            n = known if known <= room else room
            if is_whole and n < known and not self.may_be_cut(job):
                return
            taken = -(-(known if self._takes_all else n) // bt)
            charged = -(-(known if self._charges_known else self._charge(job, n)) // bt)
            wanted = charged if charged > taken else taken
            if self._watermark and (self.n_running or self._always_marks):
                wanted += self._watermark
            if self.reserves:
                wanted += self.promised - (self._n_blocks - self.free)
            if wanted > self.free:
                return
            if outlook is not None and not outlook.lets_in(job, self.free - wanted, self.n_running):
                return
            if self.reserves:
                self.promised += charged
            line.pop()
            self.free -= taken
            job.taken_blocks = taken
            self.n_running += 1
            if job.rank:
                job.recomputed_tokens += job.lost_tokens
            else:
                job.first_scheduled_s = now_s if now_s > job.arrival_s else job.arrival_s
            self.n_admitted = job.rank = self.n_admitted + 1
            self.chunks.append((job, n))
            if n < known:
                self.tail = job
            room -= n
            if rejects and not (self._stops_at_cut and n < known):
                self._reject_heads(is_whole)

    def may_be_cut(self, job: FastJob) -> bool:
        """Whether a job that was preempted has come to have more tokens than whole prompts may."""
        return self._cuts_outgrown and job.n_outputs > 0 and job.known_tokens > self.budget_tokens

    def _begin_admission(self, is_whole: bool) -> None:
        if self.outlook is not None:
            self.outlook.begin_pass(self.unfinished())
        if self.rejects_at_head:
            self._reject_heads(is_whole)

    def _reject_heads(self, is_whole: bool) -> None:
        """Turn away the first ones that can never run, whatever room there is."""
        while self.line.n and self._never_fits(self.line.head().known_tokens, is_whole):
            self.end(self.line.pop(is_admitted=False), Status.REJECTED, self.now_s)
            self.gave_up = True

    def _never_fits(self, known_tokens: int, is_whole: bool) -> bool:
        room = self._n_blocks - self._watermark
        return (is_whole and known_tokens > self.budget_tokens) or self._blocks_for(known_tokens) > room

    def _blocks_for(self, n_tokens: int) -> int:
        return -(-n_tokens // self.block_tokens)
