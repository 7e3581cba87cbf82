"""Several servers and one queue, customer by customer, many runs at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["fcfs_waits_of_servers"]

Floats = NDArray[np.float64]


def fcfs_waits_of_servers(intervals: Floats, services: Floats, n_servers: int) -> Floats:
    """Waits (runs by customers) by the recursion of Kiefer and Wolfowitz; the first tenth is dropped."""
    n_runs, n_customers = services.shape
    work = np.zeros((n_runs, n_servers))  # what each server still has to do, least first
    waits = np.empty_like(services)
    for i in range(n_customers):
        work = np.maximum(work - intervals[:, i, None], 0.0)
        waits[:, i] = work[:, 0]
        work[:, 0] += services[:, i]
        work.sort(axis=1)
    return waits[:, n_customers // 10 :]
