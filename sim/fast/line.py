"""Waiting jobs of the fast engine, in the order of a policy."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import Protocol

from sim.policies import Ordering

from .job import FastJob

__all__ = ["FOR_EVER", "KeyedLine", "Line", "PlainLine"]


class Line(Protocol):
    """What the engine asks of a line."""

    n: int

    @property
    def is_fixed(self) -> bool:
        """Whether the first stays so until it leaves, or another one joins."""
        ...

    def join(self, job: FastJob) -> None:
        """A job that arrives."""
        ...

    def rejoin(self, job: FastJob) -> None:
        """A job that was preempted."""
        ...

    def jobs(self) -> list[FastJob]:
        """All waiting jobs."""
        ...

    def begin_pass(self) -> None:
        """From now on the first is asked for."""
        ...

    def head(self) -> FastJob:
        """The first; there must be one."""
        ...

    def foremost(self) -> FastJob:
        """The first by arrival if the order is made anew at every pass, else the first; there must be one."""
        ...

    def pop(self, *, is_admitted: bool = True) -> FastJob:
        """Take the first; it is let in, or turned away."""
        ...

    def drop(self, job: FastJob) -> None:
        """Take out a job wherever it stands."""
        ...

    def demote(self, jobs: list[FastJob]) -> None:
        """Put waiting jobs behind all others for good."""
        ...

    def steady_steps(self) -> int:
        """Steps after which the first may be another one, while nothing arrives, ends or is lost."""
        ...


FOR_EVER = 2**60
"""More steps than any run has."""


class _FixedLine:
    """A line whose first stays so."""

    __slots__ = ()

    is_fixed = True

    def begin_pass(self) -> None:
        """From now on the first is asked for."""

    def steady_steps(self) -> int:
        """Any number."""
        return FOR_EVER


class PlainLine(_FixedLine):
    """First come, first served; preempted jobs go to the head.

    Attributes
    ----------
    n : int
        Waiting jobs.
    """

    __slots__ = ("_jobs", "n")

    def __init__(self) -> None:
        self._jobs: deque[FastJob] = deque()
        self.n = 0

    def join(self, job: FastJob) -> None:
        """A job that arrives."""
        self.n += 1
        self._jobs.append(job)

    def rejoin(self, job: FastJob) -> None:
        """A job that was preempted."""
        job.is_waiting = True
        self.n += 1
        self._jobs.appendleft(job)

    def jobs(self) -> list[FastJob]:
        """All waiting jobs."""
        return list(self._jobs)

    def head(self) -> FastJob:
        """The first; there must be one."""
        return self._jobs[0]

    foremost = head

    def pop(self, *, is_admitted: bool = True) -> FastJob:
        """Take the first."""
        self.n -= 1
        job = self._jobs.popleft()
        job.is_waiting = False
        return job

    def drop(self, job: FastJob) -> None:
        """Take out a job wherever it stands."""
        self.n -= 1
        self._jobs.remove(job)
        job.is_waiting = False

    def demote(self, jobs: list[FastJob]) -> None:
        """Nobody is put behind the others here."""


class KeyedLine(_FixedLine):
    """Smallest key first, demoted jobs last; entries of jobs that left are dropped when they surface.

    Attributes
    ----------
    n : int
        Waiting jobs.
    """

    __slots__ = ("_count", "_demoted", "_heap", "_key", "n")

    def __init__(self, ordering: Ordering) -> None:
        self._key = ordering.key
        self._heap: list[tuple[tuple[float, ...], int, FastJob]] = []
        self._demoted: list[tuple[tuple[float, ...], int, FastJob]] = []
        self._count = 0
        self.n = 0

    def join(self, job: FastJob) -> None:
        """A job that arrives."""
        self.n += 1
        self._count = job.ticket = self._count + 1
        heappush(self._heap, (self._key(job), job.ticket, job))

    def rejoin(self, job: FastJob) -> None:
        """A job that was preempted."""
        job.is_waiting = True
        self.n += 1
        self._count += 1
        job.ticket = -self._count
        heappush(self._demoted if job.is_demoted else self._heap, (self._key(job), job.ticket, job))

    def jobs(self) -> list[FastJob]:
        """All waiting jobs."""
        return list({entry[2]: None for entry in self._heap + self._demoted if entry[2].is_waiting})

    def place(self, job: FastJob) -> tuple[bool, tuple[float, ...], int]:
        """What a waiting job stands by."""
        return job.is_demoted, self._key(job), job.ticket

    def head(self) -> FastJob:
        """The first; there must be one."""
        heap = self._heap
        while heap:
            job = heap[0][2]
            if job.is_waiting and not job.is_demoted:
                return job
            heappop(heap)
        return self._demoted[0][2]

    def foremost(self) -> FastJob:
        """The first; there must be one."""
        return self.head()

    def pop(self, *, is_admitted: bool = True) -> FastJob:
        """Take the first."""
        job = self.head()
        heappop(self._heap or self._demoted)
        self.n -= 1
        job.is_waiting = False
        return job

    def drop(self, job: FastJob) -> None:
        """Take out a job wherever it stands."""
        self.n -= 1
        job.is_waiting = False

    def demote(self, jobs: list[FastJob]) -> None:
        """Put waiting jobs, in the order in which they stand, behind all others for good."""
        for job in sorted(jobs, key=lambda job: (self._key(job), job.ticket)):
            job.is_demoted = True
            self._count = job.ticket = self._count + 1
            heappush(self._demoted, (self._key(job), job.ticket, job))
