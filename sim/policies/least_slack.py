"""Order by what is left of the time to the deadline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sim.job import JobView, moment
from sim.plan import View

from .pieces import Ledger

__all__ = ["LeastSlack"]

J = TypeVar("J", bound=JobView)


@dataclass(frozen=True, slots=True)
class LeastSlack:
    """Who could wait least first: deadline of the first token less the time to compute what is missing [1]_.

    That time is the one that it takes alone, in chunks of the whole budget and after what is cached. Among
    equals the earlier arrival. A long prompt so goes before a short one with the same deadline.

    References
    ----------
    .. [1] Mok (1983), "Fundamental design problems of distributed systems for the hard-real-time
       environment", MIT LCS TR-297: least laxity first.

    Examples
    --------
    >>> LeastSlack().open_ledger() is None
    True
    """

    def arrange(self, waiting: Sequence[J], view: View, ledger: Any) -> Iterator[J]:
        """By slack now; as all slacks fall alike with time, it changes with the cache alone."""
        yield from sorted(waiting, key=lambda job: moment(job.deadline_s - view.alone_s(job)))

    def open_ledger(self) -> Ledger | None:
        """None: the deadlines are all it needs."""
        return None
