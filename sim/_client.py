"""The client side: when each request reaches the replica, with or without a cap on requests in flight."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator

from qtheory.system.workload.request import Requests

from .job import SAME_MOMENT_S

__all__ = ["Client"]


class Client:
    """Sends requests in order; with a cap, each waits for a free place and the thinking time after it."""

    def __init__(self, requests: Requests, *, cap: int, think_s: float) -> None:
        self._arrivals_s: list[float] = requests.arrival_s.tolist()
        self._next = 0
        self._think_s = think_s
        self._places: list[float] | None = [-math.inf] * min(cap, len(requests)) if cap else None

    @property
    def next_s(self) -> float:
        """When the next request is sent, as far as known now; infinite if none is or all places are taken."""
        if self._next == len(self._arrivals_s) or self._places == []:
            return math.inf
        place_s = self._places[0] if self._places else -math.inf
        return max(self._arrivals_s[self._next], place_s)

    @property
    def has_more(self) -> bool:
        """Whether any request is still to be sent."""
        return self._next < len(self._arrivals_s)

    def take(self, now_s: float) -> Iterator[tuple[int, float]]:
        """Position and moment of every request sent up to now."""
        while (sent_s := self.next_s) <= now_s + SAME_MOMENT_S:
            if self._places:
                heapq.heappop(self._places)
            self._next += 1
            yield self._next - 1, sent_s

    def place_free(self, at_s: float) -> None:
        """A request came to its end."""
        if self._places is not None:
            heapq.heappush(self._places, at_s + self._think_s)
