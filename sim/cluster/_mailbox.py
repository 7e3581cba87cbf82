"""Where a replica of a cluster finds what was sent to it."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator

from sim.job import SAME_MOMENT_S

__all__ = ["Mailbox"]


class Mailbox:
    """A `sim._client.Source` that others fill, in the order of time."""

    def __init__(self) -> None:
        self._sent: deque[tuple[int, float]] = deque()
        self.is_open = True

    def __len__(self) -> int:
        return len(self._sent)

    def __iter__(self) -> Iterator[int]:
        return (position for position, _ in self._sent)

    @property
    def next_s(self) -> float:
        """When the first of those not yet taken was sent; infinite if there is none."""
        return self._sent[0][1] if self._sent else math.inf

    @property
    def has_more(self) -> bool:
        """Whether anything more may come."""
        return self.is_open or bool(self._sent)

    def offer(self, position: int, at_s: float) -> None:
        """A request is sent here."""
        self._sent.append((position, at_s))

    def take(self, now_s: float) -> Iterator[tuple[int, float]]:
        """Position and moment of every request sent up to now."""
        while self.next_s <= now_s + SAME_MOMENT_S:
            yield self._sent.popleft()

    def clear(self) -> None:
        """Those not yet taken go back."""
        self._sent.clear()

    def place_free(self, at_s: float, position: int = -1) -> None:
        """The end of a request is no matter of the mailbox."""
