"""The knee of a scheduler, by theory."""

from __future__ import annotations

from dataclasses import replace

from qtheory.basics import checks
from qtheory.system.replica import ReplicaSpec
from qtheory.system.slo import Slo
from qtheory.system.workload import Workload

from .knee_interval import with_interval
from .marks import Knee, marks
from .theory import Theory

__all__ = ["knee"]


def knee(
    replica: ReplicaSpec,
    workload: Workload,
    *,
    slo: Slo | None = None,
    scheduler: str | None = None,
    tier: str = "numeric",
    goodput_frac: float = 0.9,
    level: float = 0.95,
) -> Knee:
    """Largest rate that a scheduler takes, by theory, and the other marks of its curve.

    The closed forms lead to the place; the numeric tier is asked there, mostly twice, and the closed forms
    are corrected by what it says: between the rates at which it was asked, the logarithm of the share of late
    requests differs from theirs by an interpolated amount. The knee is numeric; the other marks are read off
    the corrected curve. The interval is that of `with_interval`.

    Parameters
    ----------
    replica : ReplicaSpec
        What serves.
    workload : Workload
        Lengths, kind of arrivals and limits; its rate does not matter.
    slo : Slo, optional
        Limits in place of those of the workload.
    scheduler : str, optional
        One that there is a model of (default: that of the replica).
    tier : str
        ``closed`` (some 0.1 s) or ``numeric`` (some 2 s).
    goodput_frac : float
        Share of all arrived requests that has to be good, in (0, 1).
    level : float
        Coverage of the interval, in (0, 1).

    Raises
    ------
    ConfigError
        If there is no model of the scheduler at this load, or a number is out of its range.
    ConvergenceError
        If the tier has no answer where the knee is; simulate it.

    References
    ----------
    .. [1] Kleinrock (1979), "Power and deterministic rules of thumb for probabilistic problems in computer
       communications", ICC 1979, 43.1.1-43.1.10 (the power point [1]_).

    Examples
    --------
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload.from_scenario import workload_of
    >>> scenario = Scenario(hardware="a100", model="llama-3.1-8b", workload="chat")
    >>> found = knee(replica_of(scenario), workload_of(scenario), tier="closed")
    >>> found.fails, found.strict_rps < found.knee_rps < found.half_rps <= found.limit_rps
    ('TTFT', True)
    """
    checks.inner_fraction(goodput_frac=goodput_frac, level=level)
    if slo is not None:
        workload = replace(workload, slo=slo)
    name = replica.scheduler.name if scheduler is None else scheduler
    theory = Theory(replica=replica, workload=workload, scheduler=name, tier=tier)
    return with_interval(marks(theory, goodput_frac), theory, level=level)
