"""A scenario by theory: its steady state, a time above its limit, a fixed number of clients, or a day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from qtheory.basics.errors import ConfigError, ConvergenceError, UnstableError
from qtheory.predict import (
    MODELLED_SCHEDULERS,
    SPLIT_ROUTERS,
    USUAL_STRETCHES,
    OverTime,
    Prediction,
    predict,
    predict_over_time,
    predict_replicas,
    predict_replicas_over_time,
)
from qtheory.system.replica import ReplicaSpec
from qtheory.system.scenario import Scenario
from qtheory.system.workload import DayArrivals, PoissonArrivals, ProfileArrivals, Workload
from validation.knees import why_not_covered

__all__ = ["predicted", "predicted_at"]


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
        parts = USUAL_STRETCHES if n_stretches is None else n_stretches
        seconds = scenario.duration_s
        if n_replicas == 1:
            return predict_over_time(replica, workload, tier=tier, duration_s=seconds, n_stretches=parts)
        return predict_replicas_over_time(
            replica,
            workload,
            n_replicas=n_replicas,
            router=scenario.router,
            tier=tier,
            duration_s=seconds,
            n_stretches=parts,
        )
    if n_replicas == 1:
        return predict(
            replica, workload, tier=tier, duration_s=scenario.duration_s, n_requests=scenario.requests
        )
    return predict_replicas(
        replica,
        workload,
        n_replicas=n_replicas,
        router=scenario.router,
        tier=tier,
        duration_s=scenario.duration_s,
        n_requests=scenario.requests,
    )


def predicted_at(
    scenario: Scenario,
    replica: ReplicaSpec,
    workload: Workload,
    rates_rps: Sequence[float],
    *,
    tier: str = "numeric",
    n_stretches: int | None = None,
) -> tuple[list[Prediction | OverTime], list[str]]:
    """`predicted` at several rates, and why there is nothing at the others.

    Parameters
    ----------
    scenario, replica, workload
        As in `predicted`.
    rates_rps : sequence of float
        Requests per second, > 0.
    tier, n_stretches
        As in `predicted`.

    Raises
    ------
    ConfigError
        As `predicted`.
    UnstableError, ConvergenceError
        If none of the rates has an answer: what the first one says.

    Examples
    --------
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.workload import workload_of
    >>> chat = Scenario(hardware="a100", model="llama-3.1-8b", rate_rps=5.0)
    >>> found, why_not = predicted_at(
    ...     chat, replica_of(chat), workload_of(chat), [4.0, 8.0, 50.0], tier="closed")
    >>> [point.rate_rps for point in found], len(why_not)
    ([4.0, 8.0], 1)
    """
    found: list[Prediction | OverTime] = []
    refusals: list[UnstableError | ConvergenceError] = []
    for rate in rates_rps:
        at_rate = replace(scenario, rate_rps=rate), replica, replace(workload, rate_rps=rate)
        try:
            found.append(predicted(*at_rate, tier=tier, n_stretches=n_stretches))
        except (UnstableError, ConvergenceError) as error:
            refusals.append(error)
    if not found:
        raise refusals[0]
    return found, [str(error) for error in refusals]


def _check_covered(scenario: Scenario, replica: ReplicaSpec, workload: Workload) -> None:
    """Refuse what a prediction would pass over."""
    if isinstance(workload.arrivals, DayArrivals | ProfileArrivals):
        workload = replace(workload, arrivals=PoissonArrivals())
    why = why_not_covered(replace(scenario, replicas=1), replica, workload)
    if why is not None:
        others = ""
        if replica.scheduler.name not in MODELLED_SCHEDULERS:
            others = f"; one of {', '.join(MODELLED_SCHEDULERS)}, or"
        raise ConfigError(f"scheduler: {why}{others or ';'} run simulates it")
    if scenario.replicas > 1 and replica.pools is None and scenario.router not in SPLIT_ROUTERS:
        known = ", ".join(SPLIT_ROUTERS)
        raise ConfigError(f"router: no model of {scenario.router}; one of {known}, or run simulates it")
