"""The first replication of a run once more, step by step, to see who took part in what."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sim.cluster import ClusterRecords
from sim.perfetto import Lane, Phase, Watch, lanes_of, phases_of
from sim.record import Records

from .point import Run, requests_of
from .serving import Setting, cluster_of

__all__ = ["Watched", "watch"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Watched:
    """What was seen of a run.

    Parameters
    ----------
    found : Records or ClusterRecords
    watch : Watch
    """

    found: Records | ClusterRecords
    watch: Watch

    @property
    def lanes(self) -> list[Lane]:
        """A lane a replica."""
        return lanes_of(self.found, self.watch)

    @property
    def phases(self) -> list[Phase]:
        """Phases of all requests."""
        return phases_of(self.found, self.watch)


def watch(run: Run, *, until_s: float = math.inf) -> Watched:
    """Simulate the first replication of ``run`` again, in the reference engine, whose answers are the same.

    Parameters
    ----------
    run : Run
    until_s : float
        Moment at which the clock is stopped, seconds, > 0.

    Raises
    ------
    ServingError
        If the scenario cannot be simulated.
    """
    setting = Setting(
        run.scenario,
        run.replica,
        workload=run.workload,
        cluster=cluster_of(run.scenario),
        requests=requests_of(run.workload, run.scenario.seed),
    )
    found, seen = setting.watch(index=0, until_s=until_s)
    return Watched(found=found, watch=seen)
