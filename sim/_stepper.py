"""A replica that goes from step to step, each running job visited in each: one scheduling pass, one step."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

from qtheory.basics.errors import PlanError
from qtheory.system.steptime import StepLoad
from qtheory.system.workload.request import Requests

from ._audit import audit_job, audit_run
from ._client import Source
from ._log import Log
from ._seating import SeatingPass
from ._state import State
from ._telling import load_of, seconds_of, told
from ._unfit import why_unfit
from .job import Job
from .observe import Event, Observer
from .plan import check_plan
from .record import Records

__all__ = ["Stepper"]


class _Step(NamedTuple):
    """A step that has begun, with queues and memory as they were then."""

    plan: SeatingPass
    load: StepLoad
    start_s: float
    end_s: float
    n_waiting: int
    n_running: int
    used_blocks: int
    phases: dict[int, tuple[str, int]]


class Stepper:
    """State and clock of one replica. Time goes on in `advance`, so that others can look at it in between.

    Parameters
    ----------
    requests : Requests
    state : State
    client : Source
        Where requests come from.
    observer : callable, optional
    """

    is_alone: ClassVar[bool] = True  # whether nothing but its client can change what it waits for

    def __init__(
        self, requests: Requests, state: State, client: Source, observer: Observer | None = None
    ) -> None:
        self.state = state
        self.now_s = 0.0
        self.requests = requests
        self._output_tokens: list[int] = requests.output_tokens.tolist()  # the clock's secret
        self._client = client
        self._observer = observer
        self._log = Log(requests)
        self._area_s = 0.0
        self._early_events: list[Event] = []
        self._step: _Step | None = None
        self._is_idle = False  # after a pass in which nothing could be done

    @property
    def next_s(self) -> float:
        """When something happens next, as far as known now: the end of a step, or a pass."""
        if self._step is not None:
            return self._step.end_s
        return max(self._client.next_s, self.now_s) if self._is_idle else self.now_s

    def run(self, until_s: float) -> Records:
        """Go on to ``until_s``, or to the end of all work; a step that would end later does not count."""
        self.advance(before_s=until_s, by_s=until_s)
        if self._step is not None or self._client.next_s < math.inf:
            self.stop(until_s)
        return self.close()

    def advance(self, *, before_s: float, by_s: float) -> None:
        """Every pass that starts before ``before_s``, and every step that ends by ``by_s``."""
        while self.end_step(by_s):
            if self._is_idle and not self._jump(before_s):
                return
            if not self.now_s < before_s:
                return
            self._pass()

    def close(self) -> Records:
        """What has been seen; jobs that are inside stay unfinished."""
        state = self.state
        for job in (*state.waiting, *state.running, *(job for job, _ in state.swapped)):
            self._log.leave(job)
        audit_run(self._log, state, area_s=self._area_s, end_s=self.now_s, others=self._holders())
        return self._log.records(n_blocks=state.replica.n_blocks, end_s=self.now_s)

    def _holders(self) -> list[int]:
        """Requests that hold blocks and do not run."""
        return []

    # ---- the start of a step

    def _pass(self) -> None:
        """A scheduling pass, and the step that it leads to, if any."""
        state = self.state
        self._take_arrivals()
        step = SeatingPass(state, self.now_s)
        step.shed()
        state.policy.composition.fill(step, step)
        step.seat()
        self._settle(step)
        if step.tokens:
            self._begin(step)
            return
        self._tell(step, self.now_s, [])
        self._is_idle = not (step.preempted or step.given_up)

    def _take_arrivals(self) -> None:
        """Let in what was sent up to now."""
        for position, sent_s in self._client.take(self.now_s):
            self._log.sent_s[position] = sent_s
            self._arrive(position, sent_s)

    def _arrive(self, position: int, sent_s: float) -> None:
        self._let_in(Job.of(self.requests.row(position), sent_s), sent_s)

    def _let_in(self, job: Job, sent_s: float) -> None:
        """What can never run is turned away."""
        state = self.state
        if state.policy.on_unfit == "arrival" and why_unfit(job, state.policy, state.replica):
            self._early_events.append(Event(sent_s, "reject", job.position))
            self._end(job, sent_s, "reject")
            return
        self._area_s += self.now_s - sent_s
        state.waiting.join(job)

    def _settle(self, step: SeatingPass) -> None:
        """Preempted jobs wait again, the last one first in line; those given up are gone."""
        for job in step.preempted:
            if job not in step.swapped_out:
                self.state.waiting.rejoin(job)
        for job, how in step.given_up:
            self._end(job, self.now_s, how)

    def _begin(self, plan: SeatingPass) -> None:
        state, policy = self.state, self.state.policy
        check_plan(
            policy.name,
            plan.tokens,
            state.running,
            budget_tokens=policy.budget_tokens,
            max_seqs=policy.max_seqs,
        )
        computed = plan.tokens | plan.counted
        load = load_of(computed)
        n_moved = sum(plan.swapped_out.values()) + sum(plan.swapped_in.values())
        seconds = seconds_of(state.replica, computed | plan.beside, load, n_moved)
        phases = {}
        if self._observer:
            phases = {
                job.position: ("prefill" if job.is_prefilling else "decode", n)
                for job, n in plan.tokens.items()
            }
        self._step = _Step(
            plan,
            load,
            start_s=self.now_s,
            end_s=self.now_s + seconds,
            n_waiting=len(state.waiting) + len(state.swapped),
            n_running=len(state.running),
            used_blocks=state.replica.n_blocks - state.memory.n_free,
            phases=phases,
        )

    # ---- the end of a step

    def end_step(self, by_s: float) -> bool:
        """Bring the step that has begun, if any, to its end; False if that is later than ``by_s``."""
        step = self._step
        if step is None:
            return True
        if step.end_s > by_s:
            return False
        self._step = None
        self._log.step(
            step.start_s,
            step.end_s,
            step.load,
            n_waiting=step.n_waiting,
            n_running=step.n_running,
            used_blocks=step.used_blocks,
        )
        self._move_clock(step.end_s)
        finished = self._deliver(step.plan)
        self._tell(step.plan, step.start_s, finished, step.phases)
        return True

    def _deliver(self, step: SeatingPass) -> list[int]:
        """The end of a step: tokens are computed, sampled, delivered; who has all of its output leaves."""
        state, end_s = self.state, self.now_s
        ledger = state.waiting.ledger
        last_token_s: dict[float, int] = {}
        finished = []
        for job, n in step.tokens.items():
            job.computed_tokens += n
            job.total_computed_tokens += n
            if job.computed_tokens < job.known_tokens:
                state.publish_at_end(job, n_sampled=0)
                continue
            job.known_tokens += 1
            state.publish_at_end(job, n_sampled=1)
            job.is_prefilling = False
            if math.isnan(job.first_token_s):
                job.first_token_s = end_s
            else:
                last_token_s[job.last_token_s] = last_token_s.get(job.last_token_s, 0) + 1
            job.last_token_s = end_s
            if ledger:
                ledger.sampled(job)
            if job.n_outputs >= self._output_tokens[job.position]:
                finished.append(job)
            state.n_barren_preemptions = 0
        self._log.gaps(end_s, last_token_s)
        for job in finished:
            audit_job(job)
            self._depart(job, end_s)
        if finished:
            gone = set(finished)
            state.running = [job for job in state.running if job not in gone]
        return [job.position for job in finished]

    def _depart(self, job: Job, end_s: float) -> None:
        """A job has all of its output."""
        self.state.memory.close(job.position)
        self._end(job, end_s, "finished")

    def _end(self, job: Job, at_s: float, how: str) -> None:
        self._log.close(job, at_s, how)
        self.state.forget(job)
        self._client.place_free(at_s, job.position)

    # ---- between steps

    def stop(self, at_s: float) -> None:
        """The clock stops; a step that has begun and not ended does not count."""
        self._step = None
        self._move_clock(max(at_s, self.now_s))

    def wake(self, at_s: float) -> None:
        """Something has changed from outside: if nothing could be done, try again now."""
        if self._is_idle:
            self._move_clock(max(at_s, self.now_s))
            self._is_idle = False

    def _jump(self, before_s: float) -> bool:
        """Go on to the next arrival; False if there is none before."""
        next_s = self._client.next_s
        if math.isinf(next_s):
            if self.is_alone:
                self.check_stuck()
            return False
        if not next_s < before_s:
            return False
        self._move_clock(max(next_s, self.now_s))
        self._is_idle = False
        return True

    def check_stuck(self) -> None:
        """Raise if jobs are left that can never run."""
        state = self.state
        if not state.n_inside and not self._client.has_more:
            return
        stuck = [*state.running, *(job for job, _ in state.swapped), *state.waiting]
        if stuck:
            reason = why_unfit(stuck[0], state.policy, state.replica) or "no gate will ever open for it"
            raise PlanError(
                f"policy {state.policy.name!r}: nothing runs and request {stuck[0].position} waits for ever: "
                f"{reason}"
            )

    def _move_clock(self, to_s: float) -> None:
        self._area_s += self.state.n_inside * (to_s - self.now_s)
        self.now_s = to_s

    def _tell(
        self,
        step: SeatingPass,
        start_s: float,
        finished: list[int],
        phases: dict[int, tuple[str, int]] | None = None,
    ) -> None:
        events = [*self._early_events, *step.events]
        self._early_events = []
        if self._observer and (phases or step.preempted or events):
            self._observer(
                told(step, self.state, (start_s, self.now_s), phases or {}, finished, events=events)
            )
