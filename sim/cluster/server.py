"""What a cluster asks of a replica, and the reference engine as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from qtheory.system.workload.request import Requests
from sim._queue import WaitingQueue
from sim._stepper import Stepper
from sim._unfit import why_unfit
from sim.job import SAME_MOMENT_S, Job
from sim.observe import Observer
from sim.record import Records
from sim.routing import AnyLoad, Load

from ._mailbox import Mailbox
from ._views import Texts, load_of
from .member import Member

__all__ = ["Server", "SteppedServer"]


class Server(Protocol):
    """A replica that is told when time goes on; between two calls nothing happens in it."""

    @property
    def next_s(self) -> float:
        """No request ends, and nothing else changes by itself, before this moment; infinite: never."""
        ...

    @property
    def is_cut(self) -> bool:
        """Whether work was left when the clock was stopped."""
        ...

    def advance_to(self, at_s: float) -> None:
        """Everything up to a moment, but no scheduling pass at it: requests may still come then."""
        ...

    def settle(self, at_s: float) -> None:
        """All requests of this moment are here: the scheduling passes at it."""
        ...

    def finish(self, until_s: float) -> None:
        """To the end of all work, or until the clock is stopped."""
        ...

    def offer(self, position: int, at_s: float, job: Any = None) -> None:
        """A request is sent here now; with a job, what is left of it after another replica failed."""
        ...

    def ended(self) -> list[tuple[float, int]]:
        """Moment and row of each request that ended since the last call."""
        ...

    def load(self) -> AnyLoad:
        """The load now, or at any time."""
        ...

    def cached_tokens(self, position: int) -> int:
        """Tokens of the prompt of a request that would be reused now."""
        ...

    def abandon(self, at_s: float) -> Sequence[tuple[int, Any]]:
        """The replica fails now: the requests that were in it, running ones first."""
        ...

    def close(self) -> Records:
        """What was seen; rows of requests that were never here are NaN."""
        ...


class SteppedServer(Stepper):
    """The reference engine behind a router.

    Parameters
    ----------
    requests : Requests
        All of the cluster.
    member : Member
    texts : Texts
    observer : callable, optional

    Examples
    --------
    >>> from sim.kvcache import Contents
    >>> from sim.policies import Policy
    >>> from sim.replica import Replica
    >>> from sim.testing import ConstantStep
    >>> asked = Requests(arrival_s=[0.0], prompt_tokens=[20], output_tokens=[3])
    >>> member = Member(Policy(name="x"), Replica(step_time=ConstantStep(1.0), n_blocks=4))
    >>> server = SteppedServer(asked, member, Texts(asked, Contents.unique(1), 16))
    >>> server.offer(0, 0.5)
    >>> server.advance_to(2.0)
    >>> server.load().n_tokens, server.next_s
    (21, 2.5)
    """

    is_alone = False

    def __init__(
        self, requests: Requests, member: Member, texts: Texts, observer: Observer | None = None
    ) -> None:
        self._mailbox = Mailbox()
        self._texts = texts
        self._ended: list[tuple[float, int]] = []
        self._returned: dict[int, Job] = {}
        self.is_cut = False
        super().__init__(requests, texts.state(member), self._mailbox, observer)

    def advance_to(self, at_s: float) -> None:
        """Steps that end by then, passes that start before."""
        self.advance(before_s=at_s - SAME_MOMENT_S, by_s=at_s + SAME_MOMENT_S)

    def settle(self, at_s: float) -> None:
        """Passes that start at this moment."""
        self.advance(before_s=at_s + 2 * SAME_MOMENT_S, by_s=at_s + SAME_MOMENT_S)

    def finish(self, until_s: float) -> None:
        """Nothing more is sent."""
        self._mailbox.is_open = False
        self.advance(before_s=until_s, by_s=until_s)
        if self._step is not None:
            self.is_cut = True
            self.stop(until_s)
        elif self._is_idle and not len(self._mailbox):
            self.check_stuck()

    def offer(self, position: int, at_s: float, job: Job | None = None) -> None:
        """Into the mailbox, unless it can never run here."""
        if self.state.policy.on_unfit == "arrival":
            asked = job if job is not None else Job.of(self.requests.row(position), at_s)
            if why_unfit(asked, self.state.policy, self.state.replica):
                self._log.sent_s[position] = at_s
                self._let_in(asked, at_s)
                return
        if job is not None:
            self._returned[position] = job
        self._mailbox.offer(position, at_s)

    def ended(self) -> list[tuple[float, int]]:
        """In the order of time."""
        ended, self._ended = self._ended, []
        return ended

    def load(self) -> Load:
        """What has been sent counts, taken in or not."""
        return load_of(self.state, self._mailbox, self.requests, returned=self._returned)

    def cached_tokens(self, position: int) -> int:
        """By the blocks that are in memory."""
        return self._texts.cached_tokens(position, self.state)

    def abandon(self, at_s: float) -> list[tuple[int, Job | None]]:
        """Everything goes, what was computed with it."""
        state = self.state
        self.stop(at_s)
        for job in state.running:
            state.memory.close(job.position)
        jobs = [*state.running, *(job for job, _ in state.swapped), *state.waiting]
        state.running, state.waiting = [], WaitingQueue(state.policy.ordering)
        state.swapped.clear()
        for job in jobs:
            self._log.leave(job)
            self._log.finish_s[job.position] = at_s
            state.forget(job)
            _restart(job)
        mail = [(position, self._returned.pop(position, None)) for position in self._mailbox]
        self._mailbox.clear()
        return [*((job.position, job) for job in jobs), *mail]

    def _arrive(self, position: int, sent_s: float) -> None:
        job = self._returned.pop(position, None)
        if job is None:
            super()._arrive(position, sent_s)
        else:
            self._let_in(job, sent_s)

    def _end(self, job: Job, at_s: float, how: str) -> None:
        super()._end(job, at_s, how)
        self._ended.append((at_s, job.position))


def _restart(job: Job) -> None:
    """As after a preemption; what was computed elsewhere is nothing that the next replica answers for."""
    job.lost_tokens += job.computed_tokens
    job.expected_tokens = -job.lost_tokens
    job.computed_tokens = job.total_computed_tokens = 0
    job.is_prefilling = True
