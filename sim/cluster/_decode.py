"""A decode instance: blocks are reserved before a transfer begins; what has come joins at the next step."""

from __future__ import annotations

from qtheory.system.workload.request import Requests
from sim._stepper import Stepper
from sim.job import Job
from sim.observe import Observer

from ._mailbox import Mailbox
from ._views import Texts
from .member import Member

__all__ = ["DecodeServer"]


class DecodeServer(Stepper):
    """The reference engine, with jobs that come with their prompts computed.

    On a shortage the last one is preempted, waits here, and computes what it knows again, before any transfer
    to this instance begins.

    Attributes
    ----------
    gone : list of (Job, float, str)
        Jobs that came to an end, when and how, until somebody takes them from here.
    """

    is_alone = False

    def __init__(self, requests: Requests, member: Member, texts: Texts, observer: Observer | None) -> None:
        self.mailbox = Mailbox()
        self.gone: list[tuple[Job, float, str]] = []
        state = texts.state(member)
        super().__init__(requests, state, self.mailbox, observer)
        self._jobs: dict[int, Job] = {}  # on their way, with blocks

    @property
    def n_coming(self) -> int:
        """Jobs that have blocks and are on their way."""
        return len(self._jobs)

    def reserve(self, job: Job) -> int | None:
        """Take blocks and a place for the prompt; tokens to be sent, or None if there is no room now."""
        state, memory = self.state, self.state.memory
        if state.waiting or state.n_inside + len(self._jobs) >= state.policy.max_seqs:
            return None
        hit = state.hit(job)
        if memory.demand(hit, job.prompt_tokens) > memory.n_free:
            return None
        memory.open(job.position, hit, job.prompt_tokens)
        self._jobs[job.position] = job
        return job.prompt_tokens - len(hit) * memory.block_tokens

    def land(self, position: int, at_s: float) -> None:
        """A transfer is over."""
        self.mailbox.offer(position, at_s)

    def _arrive(self, position: int, sent_s: float) -> None:
        job = self._jobs.pop(position)
        self.state.publish(job, job.computed_tokens)
        self.state.running.append(job)
        self._area_s += self.now_s - sent_s

    def _end(self, job: Job, at_s: float, how: str) -> None:
        super()._end(job, at_s, how)
        self.gone.append((job, at_s, how))

    def _holders(self) -> list[int]:
        return list(self._jobs)
