"""Replicas behind a router that does not look at loads: each sees a part of the arrivals."""

from __future__ import annotations

import math
from dataclasses import replace

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.replica import ReplicaSpec
from qtheory.system.workload import GammaArrivals, OpenArrivals, PoissonArrivals, Workload

from .predict import predict
from .prediction import Prediction

__all__ = ["SPLIT_ROUTERS", "predict_replicas"]

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

    Returns
    -------
    Prediction
        Rates, limit and running requests are those of all replicas.

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
    checks.integer(n_replicas=n_replicas)
    checks.one_of("router", router, SPLIT_ROUTERS)
    arrivals = workload.arrivals
    if not isinstance(arrivals, OpenArrivals):
        raise ConfigError(f"arrivals: {arrivals} have no rate of their own; replicas need open arrivals")
    rate = workload.offered_rps if rate_rps is None else rate_rps
    checks.positive(rate_rps=rate)
    notes: tuple[str, ...] = ()
    if n_replicas > 1:
        whole = arrivals.dispersion(rate)
        part = 1 + (whole - 1) / n_replicas if router == "random" else whole / n_replicas
        if part < 1 - _POISSON:
            notes = ("a replica's arrivals are more regular than Poisson: taken as Poisson, waits too long",)
        is_bursty = part > 1 + _POISSON
        own: OpenArrivals = GammaArrivals(cv=math.sqrt(part)) if is_bursty else PoissonArrivals()
        workload = replace(workload, arrivals=own, rate_rps=rate / n_replicas)
    one = predict(replica, workload, rate_rps=rate / n_replicas, scheduler=scheduler, tier=tier)
    return replace(
        one,
        rate_rps=rate,
        limit_rps=one.limit_rps * n_replicas,
        mean_decoding=one.mean_decoding * n_replicas,
        warnings=(*notes, *one.warnings),
    )
