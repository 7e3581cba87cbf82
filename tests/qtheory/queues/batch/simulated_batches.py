"""A batch server, event by event."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from qtheory.queues.batch import BatchService

__all__ = ["simulated_batches"]

Floats = NDArray[np.float64]


def simulated_batches(
    rng: np.random.Generator,
    service: BatchService,
    *,
    rate_rps: float,
    max_batch: int,
    min_batch: int = 1,
    timeout_s: float = math.inf,
    n_runs: int = 20,
    n_customers: int = 4000,
) -> tuple[Floats, Floats]:
    """Waits and responses, runs by customers; the first tenth of each run is dropped."""
    waits, responses = [], []
    laws = {size: service(size) for size in range(1, max_batch + 1)}
    for _ in range(n_runs):
        arrival = np.cumsum(rng.exponential(1 / rate_rps, n_customers + max_batch))
        start, end = np.zeros(arrival.size), np.zeros(arrival.size)
        i, free = 0, 0.0
        while i < n_customers:
            begin = free
            if arrival[i + min_batch - 1] > free:  # fewer than enough are there
                begin = min(arrival[i + min_batch - 1], max(free, arrival[i]) + timeout_s)
            size = min(max_batch, int(np.searchsorted(arrival, begin, side="right")) - i)
            free = begin + laws[size].sample(rng)
            start[i : i + size], end[i : i + size] = begin, free
            i += size
        kept = slice(n_customers // 10, n_customers)
        waits.append((start - arrival)[kept])
        responses.append((end - arrival)[kept])
    return np.array(waits), np.array(responses)
