"""Transfers that wait, and those under way: first come, first served on every link."""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass, field

from sim.job import Job

from .link import Link

__all__ = ["Transfer", "Transfers"]


@dataclass(slots=True)
class Transfer:
    """Keys and values of one prompt on their way from one instance to another."""

    job: Job
    source: int
    target: int
    n_tokens: int = -1  # to be sent; below zero as long as nothing is reserved for it
    hidden_s: float = 0.0
    start_s: float = 0.0
    end_s: float = 0.0


@dataclass(slots=True)
class _Wire:
    """One link: who is on it, and for how long it has been busy."""

    current: Transfer | None = None
    busy_s: float = 0.0
    marks_s: dict[int, float] = field(default_factory=dict)  # busy time when the step of a source began

    def busy_until(self, at_s: float) -> float:
        """Busy seconds up to a moment."""
        return self.busy_s + (at_s - self.current.start_s if self.current else 0.0)


class Transfers:
    """All links of the pools.

    Parameters
    ----------
    link : Link
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self._wires: defaultdict[tuple[int, int], _Wire] = defaultdict(_Wire)
        self._under_way: list[tuple[float, int, Transfer]] = []
        self._n_begun = 0
        self.waiting: list[Transfer] = []

    @property
    def next_s(self) -> float:
        """When the first of those under way ends; infinite if there is none."""
        return self._under_way[0][0] if self._under_way else float("inf")

    def n_waiting_for(self, target: int) -> int:
        """Transfers to an instance that have not begun and have no blocks there."""
        return sum(one.target == target and one.n_tokens < 0 for one in self.waiting)

    def _wire(self, one: Transfer) -> _Wire:
        return self._wires[(0, 0) if self._link.is_shared else (one.source, one.target)]

    def is_free(self, one: Transfer) -> bool:
        """Whether its link carries nothing now."""
        return self._wire(one).current is None

    def mark(self, one: Transfer, at_s: float) -> None:
        """The last step of its prefill begins: what its link does meanwhile is counted."""
        wire = self._wire(one)
        wire.marks_s[one.source] = wire.busy_until(at_s)

    def hide(self, one: Transfer, begun_s: float, ended_s: float) -> None:
        """Its prefill is over: layers that went over the idle link meanwhile need not be sent again."""
        wire = self._wire(one)
        busy_s = wire.busy_until(ended_s) - wire.marks_s[one.source]
        one.hidden_s = self._link.hidden_s(one.n_tokens, max(ended_s - begun_s - busy_s, 0.0))
        wire.busy_s += one.hidden_s * self._link.n_layers / (self._link.n_layers - 1)

    def begin(self, one: Transfer, at_s: float) -> None:
        """Put it on its link."""
        self.waiting.remove(one)
        one.start_s = at_s
        one.end_s = at_s + self._link.seconds(one.n_tokens) - one.hidden_s
        self._wire(one).current = one
        heapq.heappush(self._under_way, (one.end_s, self._n_begun, one))
        self._n_begun += 1

    def end(self, by_s: float) -> list[Transfer]:
        """Those that end by a moment, in the order of time."""
        ended = []
        while self.next_s <= by_s:
            one = heapq.heappop(self._under_way)[2]
            wire = self._wire(one)
            wire.current = None
            wire.busy_s += one.end_s - one.start_s
            ended.append(one)
        return ended
