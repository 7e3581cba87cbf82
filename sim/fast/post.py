"""What a router sends to a replica of the fast engine, and when."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from typing import Any

from qtheory.system.workload.request import Requests

from .inflow import Inflow
from .job import FastJob

__all__ = ["JobMaker", "Post"]

_BLOCK = 4096


class Post(Inflow):
    """An `Inflow` that others fill, in the order of time.

    Attributes
    ----------
    jobs : deque of (float, FastJob)
        Sent and not let in yet, with the moment of each.
    ended : list of (float, int)
        Moment and row of each request that came to its end, until somebody takes them from here.
    """

    __slots__ = ("ended", "jobs")

    def __init__(self, *, hears_ends: bool) -> None:
        self.jobs: deque[tuple[float, FastJob]] = deque()
        self.ended: list[tuple[float, int]] = []
        self.hears_ends = hears_ends
        self.next_s = math.inf

    @property
    def has_more(self) -> bool:
        """Whether any request is not let in yet."""
        return bool(self.jobs)

    def offer(self, job: FastJob, at_s: float) -> None:
        """A request is sent here."""
        if not self.jobs:
            self.next_s = at_s
        self.jobs.append((at_s, job))

    def take(self) -> FastJob:
        """The request that was sent at `next_s`."""
        jobs = self.jobs
        job = jobs.popleft()[1]
        self.next_s = jobs[0][0] if jobs else math.inf
        return job

    def place_free(self, at_s: float, position: int) -> None:
        """The request in this row came to its end."""
        self.ended.append((at_s, position))


class JobMaker(Inflow):
    """The rows of requests as jobs, in any order; the next ones are at hand.

    Parameters
    ----------
    requests : Requests
    """

    __slots__ = ()

    def __init__(self, requests: Requests) -> None:
        super().__init__(requests, cap=0, think_s=0.0)

    def make(self, position: int, at_s: float) -> FastJob:
        """The job of a row that is sent at a moment."""
        at = position - self._start
        if not 0 <= at < len(self._block):
            self._start, at = position, 0
            self._block = self._rows(position, position + _BLOCK)
        return _job(position, at_s, self._block[at])

    def in_order(self) -> Iterator[FastJob]:
        """The jobs of all rows, each sent as it arrives."""
        for start in range(0, len(self._requests), _BLOCK):
            for position, row in enumerate(self._rows(start, start + _BLOCK), start):
                yield _job(position, row[0], row)


def _job(position: int, at_s: float, row: tuple[Any, ...]) -> FastJob:
    job = FastJob(position, at_s, row[1], row[2])
    if len(row) > 3:
        job.max_output_tokens, job.predicted_output_tokens, job.priority, job.client, limit_s = row[3:]
        job.deadline_s = at_s + limit_s
    return job
