"""Lines whose order is made anew at every pass, from the jobs in order of arrival."""

from __future__ import annotations

from bisect import insort

from sim.job import moment

from .job import FastJob
from .line import FOR_EVER

__all__ = ["ArrivalLine", "Place", "place_of"]

Place = tuple[float, int, FastJob]


class ArrivalLine:
    """Waiting jobs in order of arrival, demoted ones apart; which one is first is for others to say.

    Attributes
    ----------
    n : int
        Waiting jobs.
    """

    __slots__ = ("first", "n", "rest")

    is_fixed = False

    def __init__(self) -> None:
        self.n = 0
        self.first: list[Place] = []
        self.rest: list[Place] = []  # the demoted ones

    def join(self, job: FastJob) -> None:
        """A job that arrives."""
        self.n += 1
        insort(self.rest if job.is_demoted else self.first, place_of(job))

    def rejoin(self, job: FastJob) -> None:
        """A job that was preempted."""
        job.is_waiting = True
        self.join(job)

    def jobs(self) -> list[FastJob]:
        """All waiting jobs."""
        return [place[2] for place in self.first + self.rest]

    def head(self) -> FastJob:
        """The first; there must be one."""
        return (self.first or self.rest)[0][2]

    def foremost(self) -> FastJob:
        """The first by arrival; there must be one."""
        return (self.first or self.rest)[0][2]

    def pop(self, *, is_admitted: bool = True) -> FastJob:
        """Take the first; it is let in, or turned away."""
        job = self.head()
        self.drop(job)
        return job

    def drop(self, job: FastJob) -> None:
        """Take out a job wherever it stands."""
        (self.rest if job.is_demoted else self.first).remove(place_of(job))
        self.n -= 1
        job.is_waiting = False

    def demote(self, jobs: list[FastJob]) -> None:
        """Put waiting jobs behind all others for good."""
        for job in jobs:
            self.first.remove(place_of(job))
            job.is_demoted = True
            insort(self.rest, place_of(job))

    def begin_pass(self) -> None:
        """The first may be another one than before."""

    def steady_steps(self) -> int:
        """Any number: nothing changes the order of arrival."""
        return FOR_EVER


def place_of(job: FastJob) -> Place:
    """Where a job stands, in order of arrival."""
    return moment(job.arrival_s), job.position, job
