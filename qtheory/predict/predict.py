"""The front door: what a scheduler does at a rate, by theory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.system.replica import ReplicaSpec
from qtheory.system.scheduler import DISAGGREGATED
from qtheory.system.workload import ClosedLoop, Workload

from . import _models
from ._from_empty import still_growing
from ._overload import finite
from ._setting import Setting
from ._steps import Rule
from .closed_loop import predict_closed_loop
from .limits import Limit
from .prediction import Prediction

__all__ = [
    "LEAST_OVERLOAD",
    "MODELLED_SCHEDULERS",
    "OVERLOAD_SCHEDULERS",
    "REPLICA_SCHEDULERS",
    "TIERS",
    "limit_rps",
    "predict",
    "sweep",
]

_Horizon = Callable[[float], float]
_MUCH_REDONE = 0.1

LEAST_OVERLOAD = 1.2
"""Load; at one between 1 and this the error of the limit may be most of the backlog."""

TIERS = ("closed", "numeric")
"""``closed``: formulas, under a millisecond a point; ``numeric``: a Markov chain, a fraction of a second."""

MODELLED_SCHEDULERS = tuple(_models.MODELS)
"""Schedulers that there is a model of."""

REPLICA_SCHEDULERS = tuple(name for name in MODELLED_SCHEDULERS if name != DISAGGREGATED)
"""Those of one instance alone, which can be compared without thinking of how many instances they take."""

OVERLOAD_SCHEDULERS = tuple(name for name, model in _models.MODELS.items() if model.steps is not None)
"""Schedulers that have an answer above their limit if a horizon is given."""


def predict(
    replica: ReplicaSpec,
    workload: Workload,
    *,
    rate_rps: float | None = None,
    scheduler: str | None = None,
    tier: str = "numeric",
    duration_s: float | None = None,
    n_requests: int | None = None,
) -> Prediction:
    """Latency and goodput of a replica at an arrival rate, in steady state or above it for a while.

    Parameters
    ----------
    replica : ReplicaSpec
        What serves.
    workload : Workload
        Lengths, kind of arrivals and limits; without a rate a closed loop is answered by
        `predict_closed_loop`.
    rate_rps : float, optional
        Arrival rate, requests per second, > 0 (default: that of the workload).
    scheduler : str, optional
        One of `MODELLED_SCHEDULERS` (default: that of the replica).
    tier : str
        One of `TIERS`.
    duration_s, n_requests : float, int, optional
        Horizon for rates that are not below the limit: seconds for which requests come to an empty system,
        > 0, or their number, >= 1; not both. The fluid model with its diffusion answers then, in either tier,
        for the schedulers in `OVERLOAD_SCHEDULERS`. Below the limit the answer is the steady state, with a
        warning where the horizon is too short for it (`predict_over_time` answers from empty); without a
        horizon ``sjf`` has one above it too, of the outputs up to a length, and the others count as shed.

    Raises
    ------
    ConfigError
        If there is no model of the scheduler at this load, or the arrivals have no rate.
    ConvergenceError
        If the numeric tier finds no law of the steps within 6 %.
    UnstableError
        If the rate is not below the stability limit, without a horizon or a model of overload.

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
    if rate_rps is None and isinstance(workload.arrivals, ClosedLoop):
        return predict_closed_loop(replica, workload, scheduler=scheduler)
    rate = workload.offered_rps if rate_rps is None else rate_rps
    horizon: dict[str, Any] = {"duration_s": duration_s, "n_requests": n_requests}
    return sweep(replica, workload, [rate], scheduler=scheduler, tier=tier, **horizon)[0]


def sweep(
    replica: ReplicaSpec,
    workload: Workload,
    rates_rps: Sequence[float],
    *,
    scheduler: str | None = None,
    tier: str = "closed",
    duration_s: float | None = None,
    n_requests: int | None = None,
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
    duration_s, n_requests : float, int, optional
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
    ['0.014', '0.018', '0.026', '0.045']
    """
    checks.one_of("tier", tier, TIERS)
    checks.positive(**{f"rates_rps[{place}]": rate for place, rate in enumerate(rates_rps)})
    if not len(rates_rps):
        return []
    model, setting = _models.prepared(replica, workload, scheduler)
    limit = model.limit(setting)
    horizon = _horizon(duration_s, n_requests)
    has_some = model.always_stable or (model.starves and horizon is None)
    above = [rate for rate in rates_rps if rate >= limit.rate_rps and not has_some]
    if above and (horizon is None or model.steps is None):
        raise UnstableError(_unstable(setting, limit, max(above), has_overload=model.steps is not None))
    steady = [rate for rate in rates_rps if rate not in above]
    _models.check_phases(workload.arrivals, steady, limit)
    found = dict(zip(steady, _steady(model, setting, limit, steady, tier), strict=True))
    if horizon is not None and model.steps is not None:
        found = {
            rate: _for_a_while(point, model.steps, setting, limit, horizon) for rate, point in found.items()
        }
    for rate in above:
        found[rate] = _overloaded(model, setting.at_rate(rate, limit.rate_rps), limit, tier, horizon)
    return [found[rate] for rate in rates_rps]


def _horizon(duration_s: float | None, n_requests: int | None) -> _Horizon | None:
    """The horizon as a function of the rate."""
    if duration_s is not None and n_requests is not None:
        raise ConfigError("duration_s, n_requests: give one of the two")
    if duration_s is not None:
        checks.positive(duration_s=duration_s)
        return lambda _: float(duration_s)
    if n_requests is not None:
        checks.integer(n_requests=n_requests)
        return lambda rate: n_requests / rate
    return None


def _unstable(setting: Setting, limit: Limit, rate_rps: float, *, has_overload: bool) -> str:
    ways = "lower the rate or add replicas"
    if has_overload:
        ways += ", or give a horizon (duration_s or n_requests)"
    return (
        f"rate_rps={rate_rps:g} is not below the limit of {limit.rate_rps:.4g} req/s of "
        f"{setting.scheduler} ({limit.binds} is what binds); {ways}"
    )


def _steady(
    model: _models.Model, setting: Setting, limit: Limit, rates_rps: Sequence[float], tier: str
) -> list[Prediction]:
    """Rates below the limit."""
    if tier == "numeric" or not rates_rps:
        points = [setting.at_rate(float(rate), limit.rate_rps) for rate in rates_rps]
        return [_prediction(point, limit, tier, model.numeric(point)) for point in points]
    points = [replace(setting, rate_rps=float(rate)) for rate in rates_rps]
    columns = model.closed(setting, np.array(rates_rps, dtype=float))
    return [
        _prediction(point, limit, tier, {name: float(column[k]) for name, column in columns.items()})
        for k, point in enumerate(points)
    ]


def _for_a_while(
    point: Prediction, rule: Rule, setting: Setting, limit: Limit, horizon: _Horizon
) -> Prediction:
    """A steady state with what is to be known of it where only a limited time is asked for."""
    note = still_growing(setting.engine, rule, limit, point.rate_rps, horizon(point.rate_rps))
    return point if note is None else replace(point, warnings=(note, *point.warnings))


def _overloaded(
    model: _models.Model, setting: Setting, limit: Limit, tier: str, horizon: _Horizon | None
) -> Prediction:
    """A rate that is not below the limit, for a while."""
    if horizon is None or model.steps is None:
        raise UnstableError(_unstable(setting, limit, setting.rate_rps, has_overload=False))
    load = setting.rate_rps / limit.rate_rps
    if limit.redone_frac > _MUCH_REDONE and load < LEAST_OVERLOAD:
        raise ConfigError(
            f"rate_rps={setting.rate_rps:g}: where much is preempted there is no model of a load from 1 to "
            f"{LEAST_OVERLOAD:g} ({LEAST_OVERLOAD * limit.rate_rps:.4g} req/s); simulate it"
        )
    seconds = horizon(setting.rate_rps)
    point = _prediction(setting, limit, tier, finite(setting, limit, model.steps, seconds))
    note = f"no steady state at a load of {point.load_frac:.2f}: all requests of {seconds:.4g} s from empty"
    kept = [text for text in point.warnings if not text.endswith(_models.CLOSE_NOTE)]
    return replace(point, kind="finite horizon, predicted", duration_s=seconds, warnings=(note, *kept))


def _prediction(setting: Setting, limit: Limit, tier: str, found: dict[str, Any]) -> Prediction:
    starves = _models.MODELS[setting.scheduler].starves
    notes = _models.outside(setting, limit, starved_frac=starves * found.get("shed_frac", 0.0))
    plain = {name: each.item() if isinstance(each, np.generic) else each for name, each in found.items()}
    more = plain.pop("warnings", ())
    return Prediction(
        scheduler=setting.scheduler,
        rate_rps=setting.rate_rps,
        tier=tier,
        limit_rps=limit.rate_rps,
        binds=limit.binds,
        warnings=(*notes, *more),
        **plain,
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
    model, setting = _models.prepared(replica, workload, scheduler)
    return model.limit(setting).rate_rps
