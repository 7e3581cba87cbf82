"""A fixed piece of plain Python, so that speeds of different machines compare."""

from __future__ import annotations

import time
from heapq import heappop, heappush

__all__ = ["unit_cpu_s"]

_STEPS = 100_000


def _loop() -> int:
    heap: list[tuple[float, int]] = []
    total, x = 0, 1
    for i in range(_STEPS):
        x = (1_103_515_245 * x + 12_345) % 2_147_483_648
        heappush(heap, (x / 7, i))
        if i % 3 == 2:
            total += heappop(heap)[1]
    return total


def unit_cpu_s(repeats: int = 5) -> float:
    """CPU seconds of one pass of the loop, the best of ``repeats``."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        _loop()
        best = min(best, time.process_time() - start)
    return best
