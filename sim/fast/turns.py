"""Requests that wait for the end of others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from heapq import heappop, heappush

from qtheory.system.workload.request import Requests

from .inflow import Inflow
from .tree import Node

__all__ = ["TurnInflow"]


class TurnInflow(Inflow):
    """As `Inflow`, for requests of which some are sent a thinking time after the end of another.

    The request that is next stands in the block alone, and in the queue that it came from until it is sent.
    """

    __slots__ = ("_behind", "_first", "_firsts", "_is_ready", "_n_left", "_ready", "_row", "_thinks_s")

    def __init__(
        self, requests: Requests, *, cap: int, think_s: float, nodes: Sequence[Node | None] | None = None
    ) -> None:
        n = len(requests)
        after = [-1] * n if requests.after is None else requests.after.tolist()
        self._thinks_s = [0.0] * n if requests.think_s is None else requests.think_s.tolist()
        self._firsts = [position for position in range(n) if after[position] < 0]
        self._first = 0  # among those that wait for no other
        self._behind: dict[int, list[int]] = {}
        for position, before in enumerate(after):
            if before >= 0:
                self._behind.setdefault(before, []).append(position)
        self._ready: list[tuple[float, int]] = []  # of those that have waited for another
        self._is_ready = False  # whether the next one is of these
        self._n_left = n
        self._requests = requests
        self._row = self._rows(0, n)
        super().__init__(requests, cap=cap, think_s=think_s, nodes=nodes)
        self.hears_ends = True

    @property
    def has_more(self) -> bool:
        """Whether any request is still to be sent."""
        return self._n_left > 0

    def place_free(self, at_s: float, position: int) -> None:
        """The request in this row came to its end."""
        if self._has_cap:
            heappush(self._places, at_s + self._think_s)
        for follower in self._behind.pop(position, ()):
            ready_s = max(at_s + self._thinks_s[follower], self._row[follower][0])
            heappush(self._ready, (ready_s, follower))
        self._look()

    def _look(self) -> None:
        if self._at:
            self._at = 0
            self._n_left -= 1
            if self._is_ready:
                heappop(self._ready)
            else:
                self._first += 1
        found = self._ready[0] if self._ready else (math.inf, -1)
        self._is_ready = True
        if self._first < len(self._firsts):
            position = self._firsts[self._first]
            if (own := (self._row[position][0], position)) < found:
                found, self._is_ready = own, False
        self.next_s, self._start = found
        self._block = [self._row[self._start]] if self._start >= 0 else []
        if self._has_cap:
            self.next_s = max(self.next_s, self._places[0]) if self._places else math.inf
