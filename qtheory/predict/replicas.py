"""Replicas behind a router that does not look at loads: each sees a part of the arrivals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.system.replica import ReplicaSpec
from qtheory.system.workload import (
    DayArrivals,
    GammaArrivals,
    OpenArrivals,
    PoissonArrivals,
    ProfileArrivals,
    Workload,
)

from ._rates import Rates, steady_kind
from .over_time import predict_over_time, seconds_of
from .predict import limit_rps, predict
from .prediction import Prediction
from .stretches import USUAL_STRETCHES, OverTime

__all__ = ["SPLIT_ROUTERS", "predict_replicas", "predict_replicas_over_time"]

SPLIT_ROUTERS = ("random", "round_robin")
"""Routers that there is a model of."""

_POISSON = 0.05  # so near to it arrivals are taken as Poisson


def predict_replicas(
    replica: ReplicaSpec,
    workload: Workload,
    *,
    n_replicas: int,
    router: str = "random",
    rate_rps: float | None = None,
    scheduler: str | None = None,
    tier: str = "numeric",
    duration_s: float | None = None,
    n_requests: int | None = None,
) -> Prediction:
    """Latency and goodput of equal replicas, from one of them with its share of the arrivals.

    A random part of a stream with index of dispersion I has 1 + (I - 1) / n, exactly Poisson if the stream
    is; each n-th request of it I / n. What is more regular than Poisson is taken as Poisson, a bound from
    above for the waits.

    Parameters
    ----------
    replica : ReplicaSpec
        One of them.
    workload : Workload
        Lengths, kind of arrivals and limits, of all requests.
    n_replicas : int
        >= 1.
    router : str
        One of `SPLIT_ROUTERS`.
    rate_rps : float, optional
        Of all requests, per second, > 0 (default: that of the workload).
    scheduler, tier : str
        As in `qtheory.predict.predict`.
    duration_s, n_requests : float, int, optional
        As in `qtheory.predict.predict`; the number is of all requests.

    Returns
    -------
    Prediction
        Rates, limit, backlog and running requests are those of all replicas.

    Raises
    ------
    ConfigError
        As in `qtheory.predict.predict`, and if there is no model of the router.
    UnstableError
        If a replica cannot take its share.

    Examples
    --------
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload.from_scenario import workload_of
    >>> scenario = Scenario(hardware="a100", model="llama-3.1-8b", workload="chat")
    >>> one, all_requests = replica_of(scenario), workload_of(scenario)
    >>> point = predict_replicas(one, all_requests, n_replicas=4, rate_rps=20.0, tier="closed")
    >>> alone = predict(one, all_requests, rate_rps=5.0, tier="closed")
    >>> point.rate_rps, point.mean_ttft_s == alone.mean_ttft_s
    (20.0, True)
    """
    share = _share(workload, n_replicas=n_replicas, router=router, rate_rps=rate_rps)
    if n_requests is not None and duration_s is None and n_replicas > 1:
        checks.integer(n_requests=n_requests)
        duration_s, n_requests = n_requests / share.rate_rps, None
    try:
        one = predict(
            replica,
            share.workload,
            rate_rps=share.rate_rps / n_replicas,
            scheduler=scheduler,
            tier=tier,
            duration_s=duration_s,
            n_requests=n_requests,
        )
    except UnstableError as error:
        limit = limit_rps(replica, share.workload, scheduler=scheduler)
        raise UnstableError(_of_all(str(error), share.rate_rps, limit, n_replicas)) from error
    return replace(
        one,
        rate_rps=share.rate_rps,
        limit_rps=one.limit_rps * n_replicas,
        mean_decoding=one.mean_decoding * n_replicas,
        end_backlog=None if one.end_backlog is None else one.end_backlog * n_replicas,
        warnings=(*share.notes, *one.warnings),
    )


def predict_replicas_over_time(
    replica: ReplicaSpec,
    workload: Workload,
    *,
    n_replicas: int,
    router: str = "random",
    scheduler: str | None = None,
    tier: str = "numeric",
    duration_s: float | None = None,
    n_stretches: int = USUAL_STRETCHES,
    repeats: bool = False,
) -> OverTime:
    """Equal replicas over a day, a profile or an overload, from one of them with its share at each time.

    Parameters
    ----------
    replica : ReplicaSpec
        One of them.
    workload : Workload
        Of all requests.
    n_replicas : int
        >= 1; as many all the time.
    router : str
        One of `SPLIT_ROUTERS`.
    scheduler, tier : str
    duration_s : float, optional
    n_stretches : int
    repeats : bool
        All as in `qtheory.predict.predict_over_time`.

    Returns
    -------
    OverTime
        Rates, limit and who waits are those of all replicas.

    Raises
    ------
    ConfigError, ConvergenceError, UnstableError
        As in `qtheory.predict.predict_over_time`, and if there is no model of the router.

    Examples
    --------
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload.from_scenario import workload_of
    >>> scenario = Scenario(
    ...     hardware="a100", model="llama-3.1-8b", arrivals="day(peak_to_mean=1.6)", rate_rps=13.0)
    >>> found = predict_replicas_over_time(
    ...     replica_of(scenario), workload_of(scenario), n_replicas=2, tier="closed")
    >>> round(found.rate_rps, 3), len(found.overloads)
    (13.0, 1)
    """
    share = _share(workload, n_replicas=n_replicas, router=router, rate_rps=None)
    rates = Rates(arrivals=share.arrivals, mean_rps=share.rate_rps)
    one = predict_over_time(
        replica,
        share.workload,
        scheduler=scheduler,
        tier=tier,
        duration_s=seconds_of(rates, workload, duration_s),
        n_stretches=n_stretches,
        repeats=repeats,
    )
    parts = (
        replace(part, rate_rps=part.rate_rps * n_replicas, end_waiting=part.end_waiting * n_replicas)
        for part in one.stretches
    )
    overloads = (replace(each, peak_waiting=each.peak_waiting * n_replicas) for each in one.overloads)
    return replace(
        one,
        rate_rps=one.rate_rps * n_replicas,
        limit_rps=one.limit_rps * n_replicas,
        peak_waiting=one.peak_waiting * n_replicas,
        stretches=tuple(parts),
        overloads=tuple(overloads),
        warnings=(*share.notes, *one.warnings),
    )


def _of_all(message: str, rate_rps: float, limit_rps: float, n_replicas: int) -> str:
    """What one replica says of its rate and its limit, with those of all."""
    for name, one, every in (
        ("rate_rps=", f"{rate_rps / n_replicas:g}", f"{rate_rps:g}"),
        ("limit of ", f"{limit_rps:.4g}", f"{limit_rps * n_replicas:.4g}"),
    ):
        message = message.replace(f"{name}{one} ", f"{name}{every} ")
    return message


@dataclass(frozen=True, slots=True, kw_only=True)
class _Share:
    """What comes to one replica, the rate of all, and what is to be known of it."""

    workload: Workload
    arrivals: OpenArrivals
    rate_rps: float
    notes: tuple[str, ...] = ()


def _share(workload: Workload, *, n_replicas: int, router: str, rate_rps: float | None) -> _Share:
    checks.integer(n_replicas=n_replicas)
    if router not in SPLIT_ROUTERS:
        raise ConfigError(
            f"router: there is no model of {checks.shown(router)}; one of {', '.join(SPLIT_ROUTERS)}, "
            "or simulate it"
        )
    arrivals = workload.arrivals
    if not isinstance(arrivals, OpenArrivals):
        raise ConfigError(f"arrivals: {arrivals} have no rate of their own; replicas need open arrivals")
    rate = workload.offered_rps if rate_rps is None else rate_rps
    checks.positive(rate_rps=rate)
    if n_replicas == 1:
        return _Share(workload=workload, arrivals=arrivals, rate_rps=rate)
    whole = steady_kind(arrivals).dispersion(rate)
    part = 1 + (whole - 1) / n_replicas if router == "random" else whole / n_replicas
    notes: tuple[str, ...] = ()
    if part < 1 - _POISSON:
        notes = ("a replica's arrivals are more regular than Poisson: taken as Poisson, waits too long",)
    cv = math.sqrt(part) if part > 1 + _POISSON else 1.0
    own: OpenArrivals = PoissonArrivals() if cv == 1 else GammaArrivals(cv=cv)
    if isinstance(arrivals, DayArrivals | ProfileArrivals):
        own = replace(arrivals, cv=cv)
    part_of_all = replace(workload, arrivals=own, rate_rps=rate / n_replicas)
    return _Share(workload=part_of_all, arrivals=own, rate_rps=rate, notes=notes)
