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

    __slots__ = ("_count", "_heap", "_ordering", "n")

    def __init__(self, ordering: Ordering) -> None:
        self._ordering = ordering
        self._heap: list[tuple[bool, tuple[float, ...], int, FastJob]] = []
        self._count = 0
        self.n = 0

    def _push(self, job: FastJob, sign: int) -> None:
        self._count += 1
        job.ticket = sign * self._count
        heappush(self._heap, (job.is_demoted, self._ordering.key(job), job.ticket, job))

    def join(self, job: FastJob) -> None:
        """A job that arrives."""
        self.n += 1
        self._push(job, 1)

    def rejoin(self, job: FastJob) -> None:
        """A job that was preempted."""
        job.is_waiting = True
        self.n += 1
        self._push(job, -1)

    def head(self) -> FastJob:
        """The first; there must be one."""
        heap = self._heap
        while (entry := heap[0])[3].is_demoted != entry[0] or not entry[3].is_waiting:
            heappop(heap)
        return entry[3]

    def pop(self) -> FastJob:
        """Take the first."""
        job = self.head()
        heappop(self._heap)
        self.n -= 1
        job.is_waiting = False
        return job

    def drop(self, job: FastJob) -> None:
        """Take out a job wherever it stands."""
        self.n -= 1
        job.is_waiting = False

    def demote(self, jobs: list[FastJob]) -> None:
        """Put waiting jobs, in the order in which they stand, behind all others for good."""
        for job in sorted(jobs, key=lambda job: (self._ordering.key(job), job.ticket)):
            job.is_demoted = True
            self._push(job, 1)
