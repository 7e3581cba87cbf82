"""The fast engine with a time that goes on when it is told to, as one of several replicas must."""

from __future__ import annotations

import math
from collections.abc import Callable

from sim.job import SAME_MOMENT_S
from sim.record import Status

from .cached import CachedState
from .cached_loop import CachedLoop
from .fill import Filling
from .halves import DUE, IDLE, RUN, STEP
from .job import FastJob
from .live import Clock, Live
from .look import in_order, steps_by
from .post import Post
from .state import State
from .steps import steps_until

__all__ = ["CountedCachedState", "CountedState", "Paced", "PacedCachedLoop"]


class _Counted(State):
    """Tells its counter of jobs that end without all their outputs."""

    __slots__ = ()

    counter: Paced

    def end(self, job: FastJob, status: Status, at_s: float) -> None:
        """A job has come to its end."""
        super().end(job, status, at_s)
        self.counter.dropped(job, was_waiting=status != Status.ABORTED)


class CountedState(_Counted):
    """A state that is counted."""

    __slots__ = ("counter",)


class CountedCachedState(_Counted, CachedState):
    """A state with a prefix cache that is counted."""

    __slots__ = ("counter",)


class Paced(Live):
    """A loop whose time goes on when it is told to, behind a router.

    Its load is that of the requests that `offer` brings; where they come by themselves, nobody looks at it.
    A step is decided when it begins. A run of decodes has no end but its own until a request comes, which
    cuts it after the step that is under way.

    Attributes
    ----------
    next_s : float
        When it must be told of the time next: nothing changes before; infinite if nothing will.
    go_on : callable () -> object
        Takes it to where the clock stands.
    """

    def __init__(
        self, state: CountedState | CountedCachedState, fill: Filling, post: Post, clock: Clock
    ) -> None:
        super().__init__(state, fill, post, clock)
        state.counter, self._counted = self, state
        self._refuses = state.policy.on_unfit == "arrival"
        self.go_on: Callable[[], object] = self._follow

    # ---- requests

    def offer(self, job: FastJob, at_s: float) -> None:
        """A request is sent here now; everything before has been done."""
        self.n_requests += 1
        self.outside_tokens += job.known_tokens
        self.wanted_blocks -= -job.known_tokens // self._block_tokens
        if self._refuses and self._counted.can_never_run(job.position):
            self._counted.end(job, Status.REJECTED, at_s)
            return
        self.send(job, at_s)

    def send(self, job: FastJob, at_s: float) -> None:
        """A job comes now, to be let in with the next pass."""
        self.post.offer(job, at_s)
        if self.phase == RUN:
            self.cut(at_s)
        elif self.phase == IDLE and self.next_s == math.inf:
            self.next_s = max(at_s, self.state.now_s)

    def wake(self) -> None:
        """Something has changed from outside: if nothing could be done, try again now."""
        if self.phase == IDLE:
            self.phase, self.next_s = DUE, self.state.now_s

    def cut(self, at_s: float) -> None:
        """A run, if one is under way, ends with its step that is under way at this moment."""
        if self.phase != RUN:
            return
        n, k, first_s, slope_s = self.run_under_way
        at_s = max(at_s - SAME_MOMENT_S, self.settled_s)
        start_s = self.state.now_s
        if k > 1 and self.next_s > at_s:
            fewer = steps_until(at_s - start_s, first_s, slope_s)
            if fewer < k:
                self.run_under_way = n, fewer, first_s, slope_s
                self.next_s = start_s + (fewer * first_s + slope_s * (fewer * (fewer - 1) // 2))

    def _finish(self, job: FastJob, end_s: float) -> None:
        super()._finish(job, end_s)
        self.n_requests -= 1

    def dropped(self, job: FastJob, *, was_waiting: bool) -> None:
        """A job is gone without all its outputs."""
        self.n_requests -= 1
        self.outside_tokens -= job.known_tokens
        if was_waiting:
            self.wanted_blocks -= -(-job.known_tokens // self._block_tokens)

    # ---- time

    def advance(self, before_s: float, by_s: float) -> None:
        """Every pass that starts before ``before_s``, and every step that ends by ``by_s``."""
        state = self.state
        inflow = state.inflow
        while True:
            phase = self.phase
            if phase == IDLE:
                if not inflow.next_s < before_s:
                    self.next_s = max(inflow.next_s, state.now_s)
                    break
                if inflow.next_s > state.now_s:
                    state.now_s = inflow.next_s
            elif phase != DUE:
                if self.next_s > by_s:
                    break
                self._end()
            if not state.now_s < before_s:
                if self.phase == DUE:
                    self.next_s = state.now_s
                break
            self._pass()
        self.least_blocks = self.total_blocks - state.free

    def _follow(self) -> None:
        self.advance(self.clock.before_s, self.clock.by_s)

    def _pass(self) -> None:
        """Arrivals, a scheduling pass, and the beginning of what it leads to."""
        state = self.state
        if state.inflow.next_s <= state.now_s + SAME_MOMENT_S:
            state.take_arrivals()
        state.gave_up = False
        if state.expiries and state.expiries[0][0] < state.now_s:
            state.shed()
        self._fill_and_begin()

    def _fill_and_begin(self) -> None:
        state = self.state
        chunks, preempted, tail = state.chunks, state.preempted, state.tail
        context = self._cohort.context_tokens
        n = self._fill(state)
        self.outside_tokens += context - self._cohort.context_tokens  # of decodes that stopped
        if preempted:
            self._return(preempted)
        if state.fresh:
            state.watch()
        if chunks:
            self._count(tail)
        if n or chunks:
            if chunks or preempted or state.stalled:
                preempted.clear()
                self._begin_step(n)
            else:
                self._begin_run(n)
        elif preempted:
            preempted.clear()
            self._resume_stalled()
            self.phase = DUE
        else:
            self.phase = DUE if state.gave_up else IDLE

    def _end(self) -> None:
        """The end of what is under way."""
        if self.phase == STEP:
            self._end_step()
        elif self.phase == RUN:
            self._end_run()
        else:
            return
        self.phase = DUE

    def _return(self, preempted: list[FastJob]) -> None:
        for job in preempted:
            self.wanted_blocks += -(-job.known_tokens // self._block_tokens)
        self.state.rejoin()

    def _count(self, tail: FastJob | None) -> None:
        """Those that were let in wait no more."""
        size, overtaken = self._block_tokens, self.state.overtaken
        for job, _ in self.state.chunks:
            if job is not tail and job not in overtaken:
                self.wanted_blocks -= -(-job.known_tokens // size)

    # ---- the end of it

    def finish(self, until_s: float) -> bool:
        """To the end of all work, or until the clock is stopped; whether something was under way then."""
        self.advance(until_s, until_s)
        state = self.state
        if self.phase in (STEP, RUN):
            self.stop(until_s)
            return True
        if state.inflow.next_s < math.inf:
            state.now_s = max(until_s, state.now_s)
        elif self.phase == IDLE and (state.line.n or state.n_running):
            raise state.stuck()
        return False

    def stop(self, at_s: float) -> None:
        """The clock stops; a step that has begun and not ended does not count."""
        state = self.state
        if self.phase == RUN:
            n, k, first_s, slope_s = self.run_under_way
            done = steps_by(at_s - state.now_s, k, first_s, slope_s)
            if done:
                self.run_under_way = n, done, first_s, slope_s
                self.next_s = state.now_s + (done * first_s + slope_s * (done * (done - 1) // 2))
                self._end_run()
        state.now_s = max(at_s, state.now_s)
        self.phase, self.next_s = IDLE, math.inf

    def abandon(self, at_s: float) -> list[FastJob]:
        """Stop, and give up all jobs that were let in or wait: running ones first, as they were let in."""
        self.stop(at_s)
        state = self.state
        members = state.cohort.members()
        for job in members:
            job.last_token_s = state.late.get(job, state.last_decode_s)
        inside = [*members, *state.stalled, *(job for job, _ in state.chunks), *state.unfinished()]
        inside = sorted(dict.fromkeys(inside), key=lambda job: job.rank)
        for job in inside:
            job.lost_tokens, job.computed_tokens, job.taken_blocks = job.computed_tokens, 0, 0
            job.is_prefilling = job.is_waiting = True
        return [*inside, *in_order(state.line)]


class PacedCachedLoop(Paced, CachedLoop):
    """With a prefix cache."""

    def _begin_step(self, n: int) -> None:
        state = self._cached
        if not self._at_end and any(job.node is not None for job, _ in state.chunks):
            state.publish_plan(decodes=n > 0)
            state.cache.ahead = 0
        super()._begin_step(n)

    def _end_step(self) -> None:
        super()._end_step()
        if self._at_end:
            for job in self.state.unfinished():
                self._cached.publish(job)
