"""A scenario by theory: its steady state, a time above its limit, a fixed number of clients, or a day."""

from __future__ import annotations

from dataclasses import replace

from qtheory.basics.errors import ConfigError
from qtheory.predict import (
    USUAL_STRETCHES,
    OverTime,
    Prediction,
    predict,
    predict_over_time,
    predict_replicas,
)
from qtheory.system.replica import ReplicaSpec
from qtheory.system.scenario import Scenario
from qtheory.system.workload import DayArrivals, PoissonArrivals, ProfileArrivals, Workload
from validation.knees import why_not_covered

__all__ = ["predicted"]


def predicted(
    scenario: Scenario,
    replica: ReplicaSpec,
    workload: Workload,
    *,
    tier: str = "numeric",
    n_stretches: int | None = None,
) -> Prediction | OverTime:
    """What theory says of a scenario.

    Over time where the rate changes with the clock or stretches are asked for; of all requests of a time
    where the rate is not below the limit and a duration or number is given; else in the steady state.

    Parameters
    ----------
    scenario : Scenario
    replica : ReplicaSpec
    workload : Workload
        Both of the scenario.
    tier : str
        ``closed`` or ``numeric``.
    n_stretches : int, optional
        Parts of the time that are told apart (default: 24 where the rate changes).

    Raises
    ------
    ConfigError
        If there is no model; the message says of what.
    UnstableError
        If the rate is not below the limit, and neither a time nor a model of that is given.

    Examples
    --------
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.workload import workload_of
    >>> day = Scenario(hardware="a100", model="llama-3.1-8b", arrivals="day(peak_to_mean=1.6)", rate_rps=5.0)
    >>> predicted(day, replica_of(day), workload_of(day), tier="closed").overloads
    ()
    """
    is_changing = isinstance(workload.arrivals, DayArrivals | ProfileArrivals)
    _check_covered(scenario, replica, workload)
    n_replicas = 1 if replica.pools is not None else scenario.replicas
    if is_changing or n_stretches is not None:
        if n_replicas > 1:
            raise ConfigError(
                f"replicas: {n_replicas} given, but over time one is predicted; give its part of the rate"
            )
        return predict_over_time(
            replica,
            workload,
            tier=tier,
            duration_s=scenario.duration_s,
            n_stretches=USUAL_STRETCHES if n_stretches is None else n_stretches,
        )
    if n_replicas > 1:
        return predict_replicas(replica, workload, n_replicas=n_replicas, router=scenario.router, tier=tier)
    return predict(replica, workload, tier=tier, duration_s=scenario.duration_s, n_requests=scenario.requests)


def _check_covered(scenario: Scenario, replica: ReplicaSpec, workload: Workload) -> None:
    """Refuse what a prediction would pass over."""
    if isinstance(workload.arrivals, DayArrivals | ProfileArrivals):
        workload = replace(workload, arrivals=PoissonArrivals())
    why = why_not_covered(replace(scenario, replicas=1), replica, workload)
    if why is not None:
        raise ConfigError(f"scheduler: {why}; run simulates it")
