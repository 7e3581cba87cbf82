"""Transfers that wait and those under way, by link and target: what is looked at is who may begin."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from sim.fast.job import FastJob

from .link import Link

__all__ = ["QueuedLinks", "Sent"]


class Sent(NamedTuple):
    """A transfer that is under way, or over."""

    end_s: float
    number: int
    start_s: float
    job: FastJob
    source: int
    target: int


class QueuedLinks:
    """All links of the pools, as `Transfers`, for prompts that are sent whole.

    Parameters
    ----------
    link : Link

    Attributes
    ----------
    may_begin : bool
        Whether something has changed since transfers were last begun.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self.may_begin = False
        self._waiting: dict[tuple[int, int], deque[tuple[int, FastJob, int]]] = {}  # by wire and target
        self._busy: set[tuple[int, int]] = set()
        self._under_way: list[Sent] = []
        self._n_waited = self._n_begun = 0

    @property
    def next_s(self) -> float:
        """When the first of those under way ends; infinite if there is none."""
        return self._under_way[0].end_s if self._under_way else math.inf

    def add(self, job: FastJob, source: int, target: int) -> None:
        """A prompt is complete and waits for its link, and for room where it goes."""
        wire = -1 if self._link.is_shared else source
        self._n_waited += 1
        self._waiting.setdefault((wire, target), deque()).append((self._n_waited, job, source))
        self.may_begin = True

    def waits_for(self, target: int) -> bool:
        """Whether a transfer to an instance has not begun."""
        return any(place[1] == target for place in self._waiting)

    def begin(self, at_s: float, reserve: Callable[[int, FastJob], bool]) -> None:
        """Put on their links those whose turn it is and for which there is room."""
        self.may_begin = False
        if not self._waiting:
            return
        full: set[int] = set()  # at these somebody waits for room
        heads = sorted((queue[0][0], place) for place, queue in self._waiting.items())
        for _, place in heads:
            wire, target = place
            if target in full or self._wire(wire, target) in self._busy:
                continue
            queue = self._waiting[place]
            _, job, source = queue[0]
            if not reserve(target, job):
                full.add(target)
                continue
            queue.popleft()
            if not queue:
                del self._waiting[place]
            self._busy.add(self._wire(wire, target))
            end_s = at_s + self._link.seconds(job.prompt_tokens)
            heapq.heappush(self._under_way, Sent(end_s, self._n_begun, at_s, job, source, target))
            self._n_begun += 1

    def end(self, by_s: float) -> list[Sent]:
        """Those that end by a moment, in the order of time."""
        ended: list[Sent] = []
        if not self._under_way:
            return ended
        while self.next_s <= by_s:
            one = heapq.heappop(self._under_way)
            self._busy.remove(self._wire(-1 if self._link.is_shared else one.source, one.target))
            ended.append(one)
        self.may_begin = self.may_begin or bool(ended)
        return ended

    def _wire(self, wire: int, target: int) -> tuple[int, int]:
        """A link for all, or one for each pair."""
        return (-1, -1) if self._link.is_shared else (wire, target)
