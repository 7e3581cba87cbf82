"""Prefill and decode instances of the fast engine, with a time that goes on when it is told to."""

from __future__ import annotations

from qtheory.system.workload.request import Requests
from sim.fast.fill import fill_of
from sim.fast.halves import IDLE, RUN
from sim.fast.job import FastJob
from sim.fast.live import Clock
from sim.fast.paced import CountedState, Paced
from sim.fast.post import Post
from sim.fast.tape import Tape
from sim.job import SAME_MOMENT_S
from sim.record import Records, Status

from .member import Member

__all__ = ["DecodeLoop", "Gone", "PromptLoop"]


Gone = list[tuple[int, float, Status]]
"""Requests that came to their end, when and how, until somebody takes them from here."""


class _State(CountedState):
    """A state that tells of jobs given up."""

    __slots__ = ("gone", "post", "written")

    def __init__(self, requests: Requests, member: Member, gone: Gone) -> None:
        self.post, self.written, self.gone = Post(hears_ends=False), Tape(len(requests)), gone
        super().__init__(requests, *member, self.post, self.written)

    def end(self, job: FastJob, status: Status, at_s: float) -> None:
        """A job has come to its end, and not by itself."""
        super().end(job, status, at_s)
        self.gone.append((job.position, at_s, status))


class _DecodeState(_State):
    """What comes has its prompt computed, and its blocks."""

    __slots__ = ("n_coming",)

    def __init__(self, requests: Requests, member: Member, gone: Gone) -> None:
        super().__init__(requests, member, gone)
        self.n_coming = 0

    def take_arrivals(self) -> None:
        """What has come up to now decodes from the next step on."""
        inflow, until_s = self.inflow, self.now_s + SAME_MOMENT_S
        if self.tail is not None and inflow.next_s <= until_s:
            self.overtaken.append(self.tail)
            self.tail = None
        while inflow.next_s <= until_s:
            job = inflow.take()
            self.n_coming -= 1
            self.n_running += 1
            self.n_admitted = job.rank = self.n_admitted + 1
            self.late[job] = job.last_token_s
            self.cohort.join(job)


class _Instance(Paced):
    """A loop that is one instance of a pool."""

    def __init__(self, requests: Requests, state: _State, clock: Clock) -> None:
        super().__init__(state, fill_of(state.policy), state.post, clock)
        self._gone = state.gone
        self._requests, self._written = requests, state.written

    def close(self) -> Records:
        """What was seen up to the stop of the clock."""
        state = self.state
        state.leave()
        return self._written.records(self._requests, n_blocks=state.replica.n_blocks, end_s=state.now_s)


class PromptLoop(_Instance):
    """An instance that computes prompts; their blocks stay until they have been sent.

    Parameters
    ----------
    requests : Requests
        With one token of output each.
    member : Member
    clock : Clock
    gone : list of (int, float, Status)
        Where requests that come to their end here are told of.

    Attributes
    ----------
    done : list of (float, FastJob)
        Prompts that are complete, with the moment, until somebody takes them from here.
    """

    def __init__(self, requests: Requests, member: Member, clock: Clock, gone: Gone) -> None:
        super().__init__(requests, _State(requests, member, gone), clock)
        self.done: list[tuple[float, FastJob]] = []
        self._held: dict[int, int] = {}

    def release(self, position: int, at_s: float) -> None:
        """The blocks of a prompt are free again."""
        state = self.state
        state.free += self._held.pop(position)
        if self.phase == IDLE:
            state.now_s = max(at_s, state.now_s)
            self.wake()

    def _finish(self, job: FastJob, end_s: float) -> None:
        held = -(-job.computed_tokens // self._block_tokens)
        self._held[job.position] = max(held, job.taken_blocks)
        self.state.n_running -= 1
        self.n_requests -= 1
        self._close(job, Status.FINISHED, end_s)
        self.done.append((end_s, job))


class DecodeLoop(_Instance):
    """An instance that decodes; blocks are reserved before a transfer begins.

    Parameters
    ----------
    requests : Requests
    member : Member
    clock : Clock
    gone : list of (int, float, Status)
        Where requests that come to their end here are told of.
    """

    def __init__(self, requests: Requests, member: Member, clock: Clock, gone: Gone) -> None:
        self._decodes = _DecodeState(requests, member, gone)
        super().__init__(requests, self._decodes, clock)

    def reserve(self, job: FastJob, at_s: float) -> bool:
        """Take blocks and a place for a prompt, if there is room now."""
        state, cohort = self._decodes, self._cohort
        if state.line.n or state.n_running + state.n_coming >= state.policy.max_seqs:
            return False
        free, blocks = state.free, -(-job.prompt_tokens // self._block_tokens)
        if self.phase == RUN:
            free -= cohort.blocks_in(self.done_steps()[1]) - cohort.blocks_needed()
        if blocks > free:
            return False
        state.free -= blocks
        state.n_coming += 1
        self.cut(at_s)  # it went as far as memory would do
        return True

    def _finish(self, job: FastJob, end_s: float) -> None:
        super()._finish(job, end_s)
        self._gone.append((job.position, end_s, Status.FINISHED))
