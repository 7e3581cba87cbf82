"""The load of a replica of the fast engine, found when asked for, without a walk over its decodes."""

from __future__ import annotations

import math

from sim.job import SAME_MOMENT_S

from .fill import Filling
from .halves import RUN, STEP, Halves
from .look import steps_by
from .post import Post
from .state import State

__all__ = ["Clock", "Live"]


class Clock:
    """Of all replicas of a cluster: the moment at which loads are looked at, and how far replicas may go.

    Attributes
    ----------
    now_s : float
    before_s, by_s : float
        Passes that start before the one, and ends of steps up to the other, are known to have come.
    """

    __slots__ = ("before_s", "by_s", "now_s")

    def __init__(self) -> None:
        self.now_s = 0.0
        self.before_s = self.by_s = -math.inf


class Live(Halves):
    """A loop that is its own `sim.routing.Load`, at any time; it must have been told of the time.

    Parameters
    ----------
    state : State
    fill : callable
    post : Post
    clock : Clock

    Attributes
    ----------
    n_requests : int
        Requests in flight.
    least_blocks : int
        At least so many blocks are in use.
    total_blocks : int
        Blocks of KV memory.
    wanted_blocks : int
        Blocks that all waiting requests need.
    settled_s : float
        All passes that start before this moment are done.
    """

    def __init__(self, state: State, fill: Filling, post: Post, clock: Clock) -> None:
        super().__init__(state, fill)
        self.post, self.clock = post, clock
        self.total_blocks = state.replica.n_blocks
        self.wanted_blocks = self.n_requests = 0
        self.least_blocks = self._used_blocks = self._n_begun = 0
        self._grows_s = -math.inf
        self._seen_run = self.run_under_way
        self.settled_s = -math.inf

    @property
    def n_tokens(self) -> int:
        """Their known tokens."""
        if self.phase != RUN:
            return self.outside_tokens + self._cohort.context_tokens
        n, k, first_s, slope_s = self.run_under_way
        left_s = self.clock.now_s + SAME_MOMENT_S - self.state.now_s
        known = self.outside_tokens + self._cohort.context_tokens
        return known + n * steps_by(left_s, k, first_s, slope_s)

    @property
    def n_running(self) -> int:
        """Those that hold blocks."""
        return self.state.n_running

    @property
    def queued_tokens(self) -> int:
        """Tokens that are known and not computed."""
        state = self.state
        tail, left = state.tail, self.outside_tokens + self._cohort.size
        for job, _ in state.chunks:
            if job is not tail:
                left -= job.computed_tokens
        for job in state.stalled:
            left -= job.computed_tokens
        if state.overtaken:
            in_step = [job for job, _ in state.chunks]
            left -= sum(job.computed_tokens for job in state.overtaken if job not in in_step)
        return left if tail is None else left - tail.computed_tokens

    @property
    def used_blocks(self) -> int:
        """Blocks in use."""
        run, now_s = self.run_under_way, self.clock.now_s
        if self.phase != RUN:
            return self.total_blocks - self.state.free
        if run is self._seen_run:
            if now_s < self._grows_s:
                return self._used_blocks
        else:
            self._seen_run, self._n_begun = run, 1
            self._used_blocks = self.total_blocks - self.state.free
        return self._grow(run, now_s)

    def _grow(self, run: tuple[int, int, float, float], now_s: float) -> int:
        """Blocks in use in the middle of a run, and until when: mostly one more step has begun."""
        _, k, first_s, slope_s = run
        passed_s, cohort, n = now_s - self.state.now_s, self._cohort, self._n_begun
        end_s = n * first_s + slope_s * (n * (n - 1) // 2)
        if n < k and end_s < passed_s - SAME_MOMENT_S:
            self._used_blocks += cohort.offsets[(cohort.step + n) % self._block_tokens]
            self._n_begun = n = n + 1
            end_s = n * first_s + slope_s * (n * (n - 1) // 2)
        if end_s <= passed_s + SAME_MOMENT_S:  # further on, or between two steps
            done, n = self.done_steps()
            self._n_begun = n
            self._used_blocks = (
                self.total_blocks - self.state.free + cohort.blocks_in(n) - cohort.blocks_needed()
            )
            end_s = n * first_s + slope_s * (n * (n - 1) // 2) if n > done else -math.inf
        self._grows_s = self.state.now_s + end_s - 2 * SAME_MOMENT_S
        self.least_blocks = self._used_blocks
        return self._used_blocks

    def done_steps(self) -> tuple[int, int]:
        """Steps of the run under way that have ended, and that have begun."""
        _, k, first_s, slope_s = self.run_under_way
        passed_s = self.clock.now_s - self.state.now_s
        done = steps_by(passed_s + SAME_MOMENT_S, k, first_s, slope_s)
        least_s = max(passed_s - SAME_MOMENT_S, self.settled_s - self.state.now_s)
        if done and done * first_s + slope_s * (done * (done - 1) // 2) >= least_s:
            return done, done  # the pass of the next one is yet to come
        return done, min(done + 1, k)

    def planned_steps(self) -> int:
        """Steps of the decodes that have begun since the last change."""
        if self.phase == RUN:
            return self.done_steps()[1]
        return int(self.phase == STEP and self.n_decodes > 0)

    @property
    def waiting_blocks(self) -> int:
        """Blocks that the first waiting request needs; 0 if none waits."""
        line, jobs = self.state.line, self.post.jobs
        if line.n:
            return -(-line.foremost().known_tokens // self._block_tokens)
        return -(-jobs[0][1].known_tokens // self._block_tokens) if jobs else 0
