"""The front door: what a scheduler does at a rate, by theory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.system.replica import ReplicaSpec
from qtheory.system.workload import Workload

from . import _models
from ._setting import Setting
from .limits import Limit
from .prediction import Prediction

__all__ = ["MODELLED_SCHEDULERS", "TIERS", "limit_rps", "predict", "sweep"]

TIERS = ("closed", "numeric")
"""``closed``: formulas, under a millisecond a point; ``numeric``: a Markov chain, a fraction of a second."""

MODELLED_SCHEDULERS = tuple(_models.MODELS)
"""Schedulers that there is a model of."""


def predict(
    replica: ReplicaSpec,
    workload: Workload,
    *,
    rate_rps: float | None = None,
    scheduler: str | None = None,
    tier: str = "numeric",
) -> Prediction:
    """Latency and goodput of a replica at an arrival rate, in steady state.

    Parameters
    ----------
    replica : ReplicaSpec
        What serves.
    workload : Workload
        Lengths, kind of arrivals and limits.
    rate_rps : float, optional
        Arrival rate, requests per second, > 0 (default: that of the workload).
    scheduler : str, optional
        One of `MODELLED_SCHEDULERS` (default: that of the replica).
    tier : str
        One of `TIERS`.

    Raises
    ------
    ConfigError
        If there is no model of the scheduler at this load, or the arrivals have no rate.
    ConvergenceError
        If the numeric tier finds no law of the steps within 6 %.
    UnstableError
        If the rate is not below the stability limit.

    Examples
    --------
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload.from_scenario import workload_of
    >>> scenario = Scenario(hardware="a100", model="llama-3.1-8b", workload="chat")
    >>> point = predict(replica_of(scenario), workload_of(scenario), rate_rps=5.0)
    >>> print(f"load {point.load_frac:.2f}, TTFT {point.mean_ttft_s:.2f} s, binds: {point.binds}")
    load 0.56, TTFT 0.15 s, binds: slots
    """
    rate = workload.offered_rps if rate_rps is None else rate_rps
    return sweep(replica, workload, [rate], scheduler=scheduler, tier=tier)[0]


def sweep(
    replica: ReplicaSpec,
    workload: Workload,
    rates_rps: Sequence[float],
    *,
    scheduler: str | None = None,
    tier: str = "closed",
) -> list[Prediction]:
    """`predict` at many rates; the closed tier computes them at once.

    Parameters
    ----------
    replica : ReplicaSpec
    workload : Workload
    rates_rps : sequence of float
        Requests per second, > 0.
    scheduler, tier : str
        As in `predict`.

    Raises
    ------
    ConfigError
        As in `predict`.
    UnstableError
        If a rate is not below the stability limit.

    Examples
    --------
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload.from_scenario import workload_of
    >>> scenario = Scenario(hardware="a100", model="llama-3.1-8b", workload="chat")
    >>> points = sweep(replica_of(scenario), workload_of(scenario), [2.0, 4.0, 6.0, 8.0])
    >>> [f"{point.mean_tpot_s:.3f}" for point in points]
    ['0.015', '0.019', '0.026', '0.046']
    """
    checks.one_of("tier", tier, TIERS)
    checks.positive(**{f"rates_rps[{place}]": rate for place, rate in enumerate(rates_rps)})
    if not len(rates_rps):
        return []
    model, setting = _prepared(replica, workload, scheduler)
    limit = model.limit(setting)
    if max(rates_rps) >= limit.rate_rps and not model.always_stable:
        raise UnstableError(
            f"rate_rps={max(rates_rps):g} is not below the limit of {limit.rate_rps:.4g} req/s of "
            f"{setting.scheduler} ({limit.binds} bind); lower the rate or add replicas"
        )
    points = [setting.at_rate(float(rate), limit.rate_rps) for rate in rates_rps]
    for point in points:
        _models.check_known(point, limit)
    if tier == "numeric":
        return [_prediction(point, limit, tier, model.numeric(point)) for point in points]
    columns = model.closed(setting, np.array(rates_rps, dtype=float))
    return [
        _prediction(point, limit, tier, {name: float(column[k]) for name, column in columns.items()})
        for k, point in enumerate(points)
    ]


def _prediction(setting: Setting, limit: Limit, tier: str, found: dict[str, Any]) -> Prediction:
    return Prediction(
        scheduler=setting.scheduler,
        rate_rps=setting.rate_rps,
        tier=tier,
        limit_rps=limit.rate_rps,
        binds=limit.binds,
        warnings=_models.outside(setting, limit),
        **found,
    )


def limit_rps(replica: ReplicaSpec, workload: Workload, *, scheduler: str | None = None) -> float:
    """Stability limit of a replica, requests per second.

    Parameters
    ----------
    replica : ReplicaSpec
    workload : Workload
    scheduler : str, optional
        As in `predict`.

    Examples
    --------
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload.from_scenario import workload_of
    >>> scenario = Scenario(hardware="a100", model="llama-3.1-8b", workload="chat")
    >>> round(limit_rps(replica_of(scenario), workload_of(scenario)), 1)
    9.0
    """
    model, setting = _prepared(replica, workload, scheduler)
    return model.limit(setting).rate_rps


def _prepared(
    replica: ReplicaSpec, workload: Workload, scheduler: str | None
) -> tuple[_models.Model, Setting]:
    name = replica.scheduler.name if scheduler is None else scheduler
    if name not in _models.MODELS:
        known = ", ".join(_models.MODELS)
        raise ConfigError(
            f"scheduler: there is no model of {checks.shown(name)}; one of {known}, or simulate it"
        )
    if name != replica.scheduler.name:
        replica = replace(replica, scheduler=_models.scheduler_spec(replica, name))
    return _models.MODELS[name], Setting.of(replica, workload, 1.0)
