"""Prefill and decode instances apart: predictions, and how many of each."""

from __future__ import annotations

from dataclasses import dataclass, replace

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.system.replica import ReplicaSpec
from qtheory.system.workload import Workload

from ._phased import has_phases
from ._pools import PoolModel
from ._setting import Setting
from .prediction import Prediction

__all__ = ["POOL_ROUTERS", "PoolPlan", "best_pools", "predict_pools"]

POOL_ROUTERS = ("least_requests", "random")
"""How requests are shared among the instances of a pool."""

_FIRST_TOKENS = ("prefill_end", "transfer_end")


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """Instances of the two pools and the link between them.

    Parameters
    ----------
    n_prefill, n_decode : int
        Instances, >= 1.
    link_tokens_per_s : float
        Tokens whose keys and values a link carries a second, > 0; each pair of instances has a link.
    link_latency_s : float
        Seconds that each transfer takes on top, >= 0.
    first_token : str
        When the first token counts: at the ``prefill_end`` or at the ``transfer_end``.
    router : str
        One of `POOL_ROUTERS`, of both pools.

    Raises
    ------
    ConfigError
        If a value is out of its range.

    Examples
    --------
    >>> PoolPlan(n_prefill=1, n_decode=2, link_tokens_per_s=100_000.0).n_decode
    2
    """

    n_prefill: int
    n_decode: int
    link_tokens_per_s: float
    link_latency_s: float = 0.0
    first_token: str = "prefill_end"
    router: str = "least_requests"

    def __post_init__(self) -> None:
        checks.integer(n_prefill=self.n_prefill, n_decode=self.n_decode)
        checks.positive(link_tokens_per_s=self.link_tokens_per_s)
        checks.non_negative(link_latency_s=self.link_latency_s)
        checks.one_of("first_token", self.first_token, _FIRST_TOKENS)
        checks.one_of("router", self.router, POOL_ROUTERS)


def predict_pools(
    prefill: ReplicaSpec,
    decode: ReplicaSpec,
    workload: Workload,
    plan: PoolPlan,
    *,
    rate_rps: float | None = None,
) -> Prediction:
    """Latency and goodput of prefill and decode pools at an arrival rate, in steady state.

    Prefill instances take all prompts that wait and fit, as one step; decode instances share their steps.

    Parameters
    ----------
    prefill, decode : ReplicaSpec
        One instance of each pool. Budget and memory count, not the name of the scheduler.
    workload : Workload
        Lengths, kind of arrivals and limits.
    plan : PoolPlan
    rate_rps : float, optional
        Arrival rate, requests per second, > 0 (default: that of the workload).

    Raises
    ------
    ConfigError
        If the arrivals have no rate, or all outputs have one token.
    UnstableError
        If the rate is not below the limit of a pool or of the link.

    Examples
    --------
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload.from_scenario import workload_of
    >>> scenario = Scenario(hardware="a100", model="llama-3.1-8b", workload="chat", scheduler="fcfs")
    >>> one, plan = replica_of(scenario), PoolPlan(n_prefill=1, n_decode=2, link_tokens_per_s=190_000.0)
    >>> point = predict_pools(one, one, workload_of(scenario), plan, rate_rps=8.0)
    >>> point.scheduler, point.binds
    ('disaggregated', 'prefill pool')
    """
    rate = workload.offered_rps if rate_rps is None else rate_rps
    checks.positive(rate_rps=rate)
    model = _model(prefill, decode, workload, plan, rate)
    if rate >= model.limit_rps:
        raise UnstableError(
            f"rate_rps={rate:g} is not below the limit of {model.limit_rps:.4g} req/s of "
            f"{plan.n_prefill} prefill and {plan.n_decode} decode instances ({model.binds} binds); lower the "
            "rate or add instances there"
        )
    return Prediction(
        scheduler="disaggregated",
        rate_rps=rate,
        tier="numeric",
        limit_rps=model.limit_rps,
        binds=model.binds,
        warnings=model.notes,
        **model.columns(workload.slo),
    )


def best_pools(
    prefill: ReplicaSpec,
    decode: ReplicaSpec,
    workload: Workload,
    plan: PoolPlan,
    *,
    n_instances: int,
    rate_rps: float | None = None,
) -> PoolPlan:
    """The division of a number of instances with the most goodput at a rate, or with the highest limit.

    Parameters
    ----------
    prefill, decode : ReplicaSpec
    workload : Workload
    plan : PoolPlan
        Its link and routers; its numbers of instances do not matter.
    n_instances : int
        Of both pools together, >= 2.
    rate_rps : float, optional
        Rate at which goodput decides, > 0; without it, or where no division is stable, the limit decides.

    Raises
    ------
    ConfigError
        As in `predict_pools`.

    Examples
    --------
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload.from_scenario import workload_of
    >>> scenario = Scenario(hardware="a100", model="llama-3.1-8b", workload="chat", scheduler="fcfs")
    >>> one, plan = replica_of(scenario), PoolPlan(n_prefill=1, n_decode=1, link_tokens_per_s=190_000.0)
    >>> best = best_pools(one, one, workload_of(scenario), plan, n_instances=4)
    >>> best.n_prefill, best.n_decode
    (2, 2)
    """
    checks.at_least(2, n_instances=n_instances)
    splits = [replace(plan, n_prefill=x, n_decode=n_instances - x) for x in range(1, n_instances)]
    limits = [_model(prefill, decode, workload, one, 1e-6).limit_rps for one in splits]
    if rate_rps is not None:
        checks.positive(rate_rps=rate_rps)
        good = [
            predict_pools(prefill, decode, workload, one, rate_rps=rate_rps).goodput_frac
            if rate_rps < limit
            else -1.0
            for one, limit in zip(splits, limits, strict=True)
        ]
        if max(good) > 0:
            return splits[max(range(len(splits)), key=lambda place: (good[place], limits[place]))]
    return splits[max(range(len(splits)), key=lambda place: limits[place])]


def _model(
    prefill: ReplicaSpec, decode: ReplicaSpec, workload: Workload, plan: PoolPlan, rate_rps: float
) -> PoolModel:
    first, second = (Setting.of(one, workload, rate_rps) for one in (prefill, decode))
    if first.engine.demand.mean_decode <= 0:
        raise ConfigError("output: with one token each there is nothing to decode; use one pool of fcfs")
    notes = []
    if prefill.prefix_cache or decode.prefix_cache:
        notes.append("prefix cache: not modelled, every prompt is computed whole")
    if first.engine.demand.burstiness != 1 and not has_phases(workload.arrivals):
        notes.append("arrivals are not Poisson: taken as batches with the same long-run variance")
    return PoolModel(
        prefill=first.engine,
        decode=second.engine,
        arrivals=workload.arrivals,
        rate_rps=rate_rps,
        n_prefill=plan.n_prefill,
        n_decode=plan.n_decode,
        link=(plan.link_tokens_per_s, plan.link_latency_s),
        counts_transfer=plan.first_token == "transfer_end",
        is_even=plan.router == "least_requests",
        notes=tuple(notes),
    )
