"""What a model is given: the engine, the rate and the limits of one question."""

from __future__ import annotations

from dataclasses import dataclass, replace

from qtheory.system.replica import ReplicaSpec
from qtheory.system.slo import Slo
from qtheory.system.workload import OpenArrivals, Workload

from ._bursts import Following, bursts_of
from .demand import demand_of
from .inputs import Engine, engine_of

__all__ = ["Setting"]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One question to a model."""

    scheduler: str
    engine: Engine
    rate_rps: float
    slo: Slo
    replica: ReplicaSpec
    workload: Workload

    @classmethod
    def of(cls, replica: ReplicaSpec, workload: Workload, rate_rps: float) -> Setting:
        engine = engine_of(replica, demand_of(workload))
        return cls(
            scheduler=replica.scheduler.name,
            engine=engine,
            rate_rps=rate_rps,
            slo=workload.slo,
            replica=replica,
            workload=workload,
        )

    @property
    def in_order(self) -> Engine:
        """The engine, for requests that begin in order of arrival: what they hold of memory is counted."""
        return replace(self.engine, counts_tokens=True)

    def at_rate(self, rate_rps: float, limit_rps: float) -> Setting:
        """The same at a rate: arrivals as bursty as they are while prompts queue, and while requests run."""
        engine, arrivals = self.engine, self.workload.arrivals
        if isinstance(arrivals, OpenArrivals) and engine.demand.burstiness > 1:
            mixed = not self.replica.scheduler.whole_prompts
            queueing, running = bursts_of(arrivals, engine, rate_rps, limit_rps, mixed=mixed)
            following = Following(arrivals=arrivals, rate_rps=rate_rps)
            demand = replace(engine.demand, burstiness=queueing, slow_burstiness=running, following=following)
            engine = replace(engine, demand=demand)
        return replace(self, rate_rps=rate_rps, engine=engine)
