"""The client side: when each request reaches the replica, with or without a cap on requests in flight."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from qtheory.system.workload.request import Requests

from .job import SAME_MOMENT_S

__all__ = ["Client", "Source"]


class Source(Protocol):
    """Where the requests of a replica come from."""

    @property
    def next_s(self) -> float:
        """When the next request is sent, as far as known now; infinite if none is."""
        ...

    @property
    def has_more(self) -> bool:
        """Whether any request is still to be sent."""
        ...

    def take(self, now_s: float) -> Iterator[tuple[int, float]]:
        """Position and moment of every request sent up to now."""
        ...

    def place_free(self, at_s: float, position: int = -1) -> None:
        """The request in this row came to its end."""
        ...


class Client:
    """Sends requests in order; with a cap, each waits for a free place and the thinking time after it.

    One that waits for the end of another is sent its own thinking time after that.
    """

    def __init__(self, requests: Requests, *, cap: int, think_s: float) -> None:
        n = len(requests)
        self._arrivals_s: list[float] = requests.arrival_s.tolist()
        self._think_s = think_s
        self._places: list[float] | None = [-math.inf] * min(cap, n) if cap else None
        self._n_left = n
        self._next = 0  # among those that wait for no other
        self._free: list[int] | range = range(n)
        self._behind: dict[int, list[int]] = {}
        self._ready: list[tuple[float, int]] = []  # of those that have waited for another
        self._thinks_s: list[float] = []
        if requests.after is not None:
            self._free = np.flatnonzero(requests.after < 0).tolist()
            self._thinks_s = [0.0] * n if requests.think_s is None else requests.think_s.tolist()
            for position, before in enumerate(requests.after.tolist()):
                if before >= 0:
                    self._behind.setdefault(before, []).append(position)

    @property
    def next_s(self) -> float:
        """When the next request is sent, as far as known now; infinite if none is or all places are taken."""
        if self._places == []:
            return math.inf
        next_s = self._ready[0][0] if self._ready else math.inf
        if self._next < len(self._free):
            next_s = min(next_s, self._arrivals_s[self._free[self._next]])
        return max(next_s, self._places[0]) if self._places else next_s

    @property
    def has_more(self) -> bool:
        """Whether any request is still to be sent."""
        return self._n_left > 0

    def take(self, now_s: float) -> Iterator[tuple[int, float]]:
        """Position and moment of every request sent up to now."""
        while (sent_s := self.next_s) <= now_s + SAME_MOMENT_S:
            if self._places:
                heapq.heappop(self._places)
            self._n_left -= 1
            yield self._pop(), sent_s

    def _pop(self) -> int:
        """The request that is sent next."""
        if self._next < len(self._free):
            position = self._free[self._next]
            if not self._ready or (self._arrivals_s[position], position) < self._ready[0]:
                self._next += 1
                return position
        return heapq.heappop(self._ready)[1]

    def place_free(self, at_s: float, position: int = -1) -> None:
        """The request in this row came to its end."""
        if self._places is not None:
            heapq.heappush(self._places, at_s + self._think_s)
        for follower in self._behind.pop(position, ()):
            ready_s = max(at_s + self._thinks_s[follower], self._arrivals_s[follower])
            heapq.heappush(self._ready, (ready_s, follower))
