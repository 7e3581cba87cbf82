"""The waiting queue, kept in the order of a policy."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from .job import Job, moment
from .plan import View
from .policies import DynamicOrdering, Ledger, Ordering

__all__ = ["WaitingQueue"]


class WaitingQueue:
    """Jobs sorted by the key of an ordering (by arrival for one that is made at every pass).

    Demoted jobs stand behind all others. A new job goes behind its equals, a preempted one in front of them.
    """

    def __init__(self, ordering: Ordering | DynamicOrdering) -> None:
        self._dynamic = ordering if isinstance(ordering, DynamicOrdering) else None
        self._static = None if isinstance(ordering, DynamicOrdering) else ordering
        self.ledger: Ledger | None = self._dynamic.open_ledger() if self._dynamic else None
        self._keys: list[tuple[float, ...]] = []
        self._jobs: list[Job] = []

    def __len__(self) -> int:
        return len(self._jobs)

    def __iter__(self) -> Iterator[Job]:
        return iter(self._jobs)

    def _key(self, job: Job) -> tuple[float, ...]:
        if self._static:
            return job.is_demoted, *self._static.key(job)
        return job.is_demoted, moment(job.arrival_s), job.position

    def join(self, job: Job) -> None:
        """A job that arrives."""
        key = self._key(job)
        self._insert(bisect_right(self._keys, key), key, job)
        if self.ledger:
            self.ledger.arrived(job)

    def rejoin(self, job: Job) -> None:
        """A job that was preempted."""
        key = self._key(job)
        self._insert(bisect_left(self._keys, key), key, job)
        if self.ledger:
            self.ledger.returned(job)

    def remove(self, job: Job, *, is_admitted: bool) -> None:
        """A job that is admitted or given up."""
        self._delete(job)
        if self.ledger:
            self.ledger.left(job, is_admitted=is_admitted)

    def demote(self, job: Job) -> None:
        """Put a job behind all others for good."""
        self._delete(job)
        job.is_demoted = True
        key = self._key(job)
        self._insert(bisect_right(self._keys, key), key, job)

    def undemoted(self) -> list[Job]:
        """A copy of the part in front of the first demoted job."""
        return self._jobs[: bisect_left(self._keys, (True,))]

    def in_order(self, view: View) -> Iterator[Job]:
        """Jobs in the order of the policy; those already passed may be removed while this is read."""
        if self._dynamic:
            n_first = len(self.undemoted())
            first, rest = self._jobs[:n_first], self._jobs[n_first:]
            yield from self._dynamic.arrange(first, view, self.ledger)
            yield from self._dynamic.arrange(rest, view, self.ledger)
            return
        index = 0
        while index < len(self._jobs):
            job = self._jobs[index]
            yield job
            if index < len(self._jobs) and self._jobs[index] is job:
                index += 1

    def _insert(self, index: int, key: tuple[float, ...], job: Job) -> None:
        self._keys.insert(index, key)
        self._jobs.insert(index, job)

    def _delete(self, job: Job) -> None:
        index = 0 if self._jobs[0] is job else self._jobs.index(job)
        del self._keys[index], self._jobs[index]
