"""A small event simulation of one server that serves by rank."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np

__all__ = ["serve_by_rank", "share_equally"]

Rank = Callable[[int, float], float]


def serve_by_rank(
    arrivals: np.ndarray, sizes: np.ndarray, rank: Rank, *, preempt: bool, restart: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """First starts and ends, the smallest ``rank(customer, work left)`` first; ties in order of arrival.

    With ``restart`` an interrupted service starts again from nothing (the same size).
    """
    n = len(arrivals)
    starts, ends = np.full(n, np.nan), np.full(n, np.nan)
    left = sizes.astype(float).copy()
    waiting: list[tuple[float, int]] = []
    now, current, began, i = 0.0, -1, 0.0, 0
    while i < n or waiting or current >= 0:
        upcoming = arrivals[i] if i < n else np.inf
        if current >= 0 and began + left[current] <= upcoming:
            now = began + left[current]
            ends[current], current = now, -1
        else:
            now = upcoming
            heapq.heappush(waiting, (rank(i, left[i]), i))
            i += 1
            if current >= 0:
                if not preempt:
                    continue
                remaining = left[current] - (now - began)
                if waiting[0][0] >= rank(current, remaining):
                    continue
                left[current] = sizes[current] if restart else remaining
                heapq.heappush(waiting, (rank(current, left[current]), current))
                current = -1
        if current < 0 and waiting:
            _, current = heapq.heappop(waiting)
            began = now
            if np.isnan(starts[current]):
                starts[current] = now
    return starts, ends


def share_equally(arrivals: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Ends under egalitarian processor sharing, in the time of one customer's service."""
    ends = np.empty(len(arrivals))
    present: list[tuple[float, int]] = []
    now, served = 0.0, 0.0  # clock, and what everybody present since the start has received
    for i, arrival in enumerate([*arrivals.tolist(), np.inf]):
        while present and now + (present[0][0] - served) * len(present) <= arrival:
            target, k = heapq.heappop(present)
            now += (target - served) * (len(present) + 1)
            served = target
            ends[k] = now
        if i < len(arrivals):
            if present:
                served += (arrival - now) / len(present)
            now = arrival
            heapq.heappush(present, (served + sizes[i], i))
    return ends
