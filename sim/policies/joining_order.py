"""Order of joining the line, in which a preempted job stands last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sim.job import JobView
from sim.plan import View

from .pieces import Ledger

__all__ = ["Joining"]

J = TypeVar("J", bound=JobView)


@dataclass(frozen=True, slots=True)
class Joining:
    """First come, first served, but a preempted job comes anew: it goes to the back of the queue [1]_.

    References
    ----------
    .. [1] SGLang, ``managers/scheduler.py``, retracted requests under policy fcfs, July 2026.

    Examples
    --------
    >>> Joining().open_ledger().counters()
    {}
    """

    def arrange(self, waiting: Sequence[J], view: View, ledger: Any) -> Iterator[J]:
        """In the order in which they joined the queue."""
        yield from sorted(waiting, key=ledger.ticket)

    def open_ledger(self) -> Ledger:
        """An empty line."""
        return _Tickets()


class _Tickets:
    """A number for each job that joins."""

    def __init__(self) -> None:
        self._tickets: dict[int, int] = {}
        self._n = 0

    def ticket(self, job: JobView) -> int:
        """Its place."""
        return self._tickets[job.position]

    def arrived(self, job: JobView) -> None:
        """It stands last."""
        self._n += 1
        self._tickets[job.position] = self._n

    def returned(self, job: JobView) -> None:
        """It stands last."""
        self.arrived(job)

    def left(self, job: JobView, *, is_admitted: bool) -> None:
        """Its place is gone."""
        del self._tickets[job.position]

    def sampled(self, job: JobView) -> None:
        """Of no meaning here."""

    def counters(self) -> dict[int, float]:
        """None."""
        return {}
