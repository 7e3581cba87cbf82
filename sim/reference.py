"""The reference engine: one step after the other, every running job visited in each. Slow, short, obvious."""

from __future__ import annotations

import math

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, PlanError
from qtheory.system.steptime import StepLoad
from qtheory.system.workload.request import Requests

from ._audit import audit_job, audit_run
from ._client import Client
from ._log import Log
from ._pass import SchedulingPass
from ._state import State
from ._unfit import cut_outputs, why_unfit
from .job import Job
from .kvcache import Contents
from .observe import Event, Iteration, Observer
from .plan import check_plan
from .policies import Policy
from .record import Records
from .replica import Replica

__all__ = ["simulate"]


def simulate(
    requests: Requests,
    policy: Policy,
    replica: Replica,
    *,
    client_cap: int = 0,
    think_s: float = 0.0,
    until_s: float = math.inf,
    contents: Contents | None = None,
    observer: Observer | None = None,
) -> Records:
    """Serve ``requests`` on one replica and record what happens; the meaning that a faster engine must match.

    Parameters
    ----------
    requests : Requests
        In order of arrival. Outputs stop at the longest sequence of the model.
    policy : Policy
        Who is served when.
    replica : Replica
        What serves.
    client_cap : int
        Requests in flight at the client at most; 0: no cap. Request i is sent at its arrival, or when a place
        is free and the thinking time after it is over.
    think_s : float
        Seconds from the end of a request until its place is used again, >= 0.
    until_s : float
        Moment at which the clock is stopped, seconds, > 0; a step that would end later does not count.
    contents : Contents, optional
        What the prompts say, for the prefix cache (default: no two tokens are the same).
    observer : callable, optional
        Called with every `Iteration`.

    Returns
    -------
    Records

    Raises
    ------
    ConfigError
        If an argument is out of its range, or the step time is not above zero.
    PlanError
        If the policy breaks a limit, or requests are left that can never run (names one).

    Examples
    --------
    >>> from sim.policies import Policy
    >>> from sim.testing import ConstantStep
    >>> records = simulate(
    ...     Requests(arrival_s=[0.0, 0.5], prompt_tokens=[10, 30], output_tokens=[3, 1]),
    ...     Policy(name="chunked", budget_tokens=16),
    ...     Replica(step_time=ConstantStep(1.0), n_blocks=8),
    ... )
    >>> records.first_token_s.tolist(), records.finish_s.tolist()
    ([1.0, 3.0], [3.0, 3.0])
    """
    checks.at_least(0, client_cap=client_cap)
    checks.non_negative(think_s=think_s)
    if not until_s > 0:
        raise ConfigError(f"until_s: {until_s} must be > 0")
    requests = cut_outputs(requests, replica.max_model_len_tokens)
    state = State(policy, replica, contents or Contents.unique(len(requests)))
    engine = _Engine(requests, state, Client(requests, cap=client_cap, think_s=think_s), observer)
    return engine.run(until_s)


class _Engine:
    def __init__(self, requests: Requests, state: State, client: Client, observer: Observer | None) -> None:
        self._requests = requests
        self._output_tokens: list[int] = requests.output_tokens.tolist()  # the clock's secret
        self._state = state
        self._client = client
        self._observer = observer
        self._log = Log(requests)
        self._now_s = 0.0
        self._area_s = 0.0
        self._early_events: list[Event] = []

    def run(self, until_s: float) -> Records:
        state = self._state
        while self._now_s < until_s:
            self._take_arrivals()
            step = SchedulingPass(state, self._now_s)
            step.shed()
            state.policy.composition.fill(step, step)
            self._settle(step)
            if step.tokens:
                if not self._compute(step, until_s):
                    break
            else:
                self._tell(step, self._now_s, [])
                if not (step.preempted or step.given_up) and not self._jump(until_s):
                    break
        for job in (*state.waiting, *state.running, *(job for job, _ in state.swapped)):
            self._log.leave(job)
        audit_run(self._log, state, area_s=self._area_s, end_s=self._now_s)
        return self._log.records(n_blocks=state.replica.n_blocks, end_s=self._now_s)

    def _take_arrivals(self) -> None:
        """Let in what was sent up to now; what can never run is turned away."""
        state = self._state
        for position, sent_s in self._client.take(self._now_s):
            self._log.sent_s[position] = sent_s
            job = Job.of(self._requests.row(position), sent_s)
            if state.policy.on_unfit == "arrival" and why_unfit(job, state.policy, state.replica):
                self._early_events.append(Event(sent_s, "reject", position))
                self._end(job, sent_s, "reject")
                continue
            self._area_s += self._now_s - sent_s
            state.waiting.join(job)

    def _settle(self, step: SchedulingPass) -> None:
        """Preempted jobs wait again, the last one first in line; those given up are gone."""
        for job in step.preempted:
            if job not in step.swapped_out:
                self._state.waiting.rejoin(job)
        for job, how in step.given_up:
            self._end(job, self._now_s, how)

    def _end(self, job: Job, at_s: float, how: str) -> None:
        self._log.close(job, at_s, how)
        self._state.forget(job)
        self._client.place_free(at_s)

    def _compute(self, step: SchedulingPass, until_s: float) -> bool:
        """Run the step; False if the clock stops before its end."""
        state, policy = self._state, self._state.policy
        check_plan(
            policy.name,
            step.tokens,
            state.running,
            budget_tokens=policy.budget_tokens,
            max_seqs=policy.max_seqs,
        )
        load = _load(step.tokens)
        n_moved = sum(step.swapped_out.values()) + sum(step.swapped_in.values())
        seconds = state.replica.step_time.step_s(load) + n_moved * state.replica.swap_s_per_block
        if not 0 < seconds < math.inf:
            raise ConfigError(f"step_time: {seconds} seconds for {load}; a step must take a time > 0")
        end_s = self._now_s + seconds
        if end_s > until_s:
            self._move_clock(until_s)
            return False
        self._log.step(
            self._now_s,
            end_s,
            load,
            n_waiting=len(state.waiting) + len(state.swapped),
            n_running=len(state.running),
            used_blocks=state.replica.n_blocks - state.memory.n_free,
        )
        phases = {}
        if self._observer:
            phases = {
                job.position: ("prefill" if job.is_prefilling else "decode", n)
                for job, n in step.tokens.items()
            }
        start_s = self._now_s
        self._move_clock(end_s)
        finished = self._deliver(step)
        self._tell(step, start_s, finished, phases)
        return True

    def _deliver(self, step: SchedulingPass) -> list[int]:
        """The end of a step: tokens are computed, sampled, delivered; who has all of its output leaves."""
        state, end_s = self._state, self._now_s
        ledger, at_step_end = state.waiting.ledger, state.policy.cache_commit == "step_end"
        last_token_s: dict[float, int] = {}
        finished = []
        for job, n in step.tokens.items():
            job.computed_tokens += n
            job.total_computed_tokens += n
            if at_step_end:
                state.publish(job, job.computed_tokens)
            if job.computed_tokens < job.known_tokens:
                continue
            job.known_tokens += 1
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
            state.memory.close(job.position)
            audit_job(job)
            self._end(job, end_s, "finished")
        if finished:
            gone = set(finished)
            state.running = [job for job in state.running if job not in gone]
        return [job.position for job in finished]

    def _jump(self, until_s: float) -> bool:
        """Go on to the next arrival; False if there is none."""
        next_s = self._client.next_s
        if math.isinf(next_s):
            self._check_stuck()
            return False
        self._move_clock(min(max(next_s, self._now_s), until_s))
        return True

    def _check_stuck(self) -> None:
        state = self._state
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
        self._area_s += self._state.n_inside * (to_s - self._now_s)
        self._now_s = to_s

    def _tell(
        self,
        step: SchedulingPass,
        start_s: float,
        finished: list[int],
        phases: dict[int, tuple[str, int]] | None = None,
    ) -> None:
        events = [*self._early_events, *step.events]
        self._early_events = []
        if not self._observer or not (phases or step.preempted or events):
            return
        ledger = self._state.waiting.ledger
        self._observer(
            Iteration(
                start_s=start_s,
                end_s=self._now_s,
                batch=phases or {},
                cached={job.position: n for job, n in step.cached.items()},
                preempted=[job.position for job in step.preempted],
                swapped_out={job.position: n for job, n in step.swapped_out.items()},
                swapped_in={job.position: n for job, n in step.swapped_in.items()},
                finished=finished,
                free_blocks=self._state.memory.n_free,
                events=events,
                counters=ledger.counters() if ledger else {},
            )
        )


def _load(tokens: dict[Job, int]) -> StepLoad:
    """What a step computes, in the terms of the step-time models."""
    n_decodes = context = prefill = prefill_context = n_sampled = 0
    work = 0.0
    for job, n in tokens.items():
        before = job.computed_tokens
        if job.is_prefilling:
            prefill += n
            work += n * before + n * (n + 1) / 2
            prefill_context += before + n
            n_sampled += before + n == job.known_tokens
        else:
            n_decodes += 1
            context += before + 1
            n_sampled += 1
    return StepLoad(n_decodes, context, prefill, work, prefill_context, n_sampled)
