"""The front door for a fixed number of requests in flight."""

from __future__ import annotations

from dataclasses import replace

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.replica import ReplicaSpec
from qtheory.system.workload import ClosedLoop, PoissonArrivals, Workload

from . import _models
from ._loop import Loop
from .prediction import Prediction

__all__ = ["CLOSED_LOOP_SCHEDULERS", "predict_closed_loop"]

CLOSED_LOOP_SCHEDULERS = tuple(name for name, model in _models.MODELS.items() if model.steps is not None)
"""Schedulers that there is a closed network of."""


def predict_closed_loop(
    replica: ReplicaSpec,
    workload: Workload,
    *,
    concurrency: int | None = None,
    think_s: float | None = None,
    scheduler: str | None = None,
) -> Prediction:
    """Latency, goodput and rate of a replica whose clients send when they are answered, in steady state.

    Parameters
    ----------
    replica : ReplicaSpec
        What serves.
    workload : Workload
        Lengths and limits; of its arrivals only a closed loop matters, and only where nothing else is given.
    concurrency : int, optional
        Clients, each with one request in flight or thinking, >= 1 (default: those of the workload).
    think_s : float, optional
        Mean seconds from an answer to the next request, >= 0 (default: those of the workload, else 0).
    scheduler : str, optional
        One of `CLOSED_LOOP_SCHEDULERS` (default: that of the replica).

    Raises
    ------
    ConfigError
        If there is no closed network of the scheduler, or no number of clients.

    Examples
    --------
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload.from_scenario import workload_of
    >>> scenario = Scenario(hardware="a100", model="llama-3.1-8b", workload="chat")
    >>> point = predict_closed_loop(replica_of(scenario), workload_of(scenario), concurrency=32)
    >>> print(f"{point.rate_rps:.1f} rps, TTFT {point.mean_ttft_s:.2f} s, TPOT {point.mean_tpot_s:.3f} s")
    6.1 rps, TTFT 0.09 s, TPOT 0.024 s
    """
    loop = workload.arrivals if isinstance(workload.arrivals, ClosedLoop) else None
    clients = loop.concurrency if concurrency is None and loop is not None else concurrency
    if clients is None:
        raise ConfigError(f"concurrency: give the number of clients; {workload.arrivals} has none")
    thinking = (loop.think_s if loop is not None else 0.0) if think_s is None else think_s
    checks.integer(concurrency=clients)
    checks.non_negative(think_s=thinking)
    opened = replace(workload, arrivals=PoissonArrivals(), rate_rps=1.0)
    model, setting = _models.prepared(replica, opened, scheduler)
    if model.steps is None:
        known = ", ".join(CLOSED_LOOP_SCHEDULERS)
        raise ConfigError(f"scheduler: there is no closed loop of {setting.scheduler}; one of {known}")
    limit = model.limit(setting)
    network = Loop(
        engine=setting.engine, rule=model.steps, limit=limit, concurrency=clients, think_s=thinking
    )
    notes = _models.outside(setting, limit)
    return Prediction(
        scheduler=setting.scheduler,
        tier="closed",
        kind="closed loop, predicted",
        limit_rps=limit.rate_rps,
        binds=limit.binds,
        warnings=notes,
        **network.columns(setting.slo),
    )
