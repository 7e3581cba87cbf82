"""Waiting jobs in the order in which they joined the line."""

from __future__ import annotations

from heapq import heappush

from sim.policies import Fcfs

from .arrival import place_of
from .job import FastJob
from .line import KeyedLine

__all__ = ["JoiningLine"]


class JoiningLine(KeyedLine):
    """The order of `Joining`: a preempted job stands last."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(Fcfs())

    def rejoin(self, job: FastJob) -> None:
        """A job that was preempted."""
        job.is_waiting = True
        self.n += 1
        self._count = job.ticket = self._count + 1
        heappush(self._demoted if job.is_demoted else self._heap, ((), job.ticket, job))

    def foremost(self) -> FastJob:
        """The first by arrival; there must be one."""
        return min(self.jobs(), key=lambda job: (job.is_demoted, *place_of(job)))

    def demote(self, jobs: list[FastJob]) -> None:
        """Put waiting jobs behind all others for good; among these they keep their places."""
        for job in jobs:
            job.is_demoted = True
            heappush(self._demoted, ((), job.ticket, job))
