"""Waiting jobs of the fast engine, in the order of a policy."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush

from sim.policies import Ordering

from .job import FastJob

__all__ = ["KeyedLine", "PlainLine"]


class PlainLine:
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

    def pop(self) -> FastJob:
        """Take the first."""
        self.n -= 1
        job = self._jobs.popleft()
        job.is_waiting = False
        return job


class KeyedLine:
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

    def head(self) -> FastJob:
        """The first; there must be one."""
        heap = self._heap
        while heap:
            job = heap[0][2]
            if job.is_waiting and not job.is_demoted:
                return job
            heappop(heap)
        return self._demoted[0][2]

    def pop(self) -> FastJob:
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
