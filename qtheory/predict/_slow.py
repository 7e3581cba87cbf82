"""Slow fluctuations of the time that a decode step takes, which a request sees all through its stay."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._backlog import Backlog

__all__ = ["Slow"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Slow:
    """Slow fluctuations of the seconds of a gap, by the number running and by what the running ones hold."""

    memory_s: float
    by_number_s: float  # standard deviation of a gap
    by_context_s: float
    together: float  # correlation of the stall and the load that an arrival brings

    @classmethod
    def of(cls, backlog: Backlog, slope_s: float, memory_s: float) -> Slow:
        demand = backlog.mesh.engine.demand
        spread = max(backlog.var_running, 0.0)
        held = backlog.mean_running * demand.context_var / demand.mean_context**2
        held *= not backlog.mesh.engine.is_memory_work  # else it is in the first
        whole = demand.prompt_moment(2) * demand.decode_moment(2)
        return cls(
            memory_s=memory_s,
            by_number_s=slope_s * math.sqrt(spread),
            by_context_s=slope_s * math.sqrt(held),
            together=min(demand.prompt_decode / math.sqrt(whole), 1.0),
        )

    def grown(self, var: Floats, d: float, time_s: float) -> Floats:
        """Variance of a sum of d gaps, given the number running seen: arrivals in the stay bring both a stall
        and a request that runs."""
        z = time_s / self.memory_s
        kept = -math.expm1(-z) / z
        share = max(2 / z * (1 - kept), 0.0)
        new = math.sqrt(max(1 - kept**2 / share, 0.0)) if share > 0 else 0.0
        slow = d * math.sqrt(share) * math.hypot(self.by_number_s, self.by_context_s)
        return np.asarray(
            var + 2 * self.together * new * np.sqrt(var) * slow + share * (d * self.by_context_s) ** 2
        )
