"""Prefill and decode apart: the pools of a scenario, and their records as those of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.cluster import ClusterSpec, parse_router
from qtheory.system.replica import ReplicaSpec
from qtheory.system.scenario import Scenario
from qtheory.system.scheduler import DISAGGREGATED
from qtheory.system.scheduler_text import parse_scheduler
from sim.cluster import FIRST_TOKENS, ClusterRecords, Link, Member, PoolRecords, Pools
from sim.policies import Chunked, Policy
from sim.replica import Replica
from sim.routing import make_router

__all__ = ["as_cluster", "check_pool_fields", "is_apart", "pool_cluster_of", "pools_of"]

_FIELDS = (
    "prefill_replicas",
    "decode_replicas",
    "link_bytes_per_s",
    "link_latency_s",
    "link_shared",
    "layerwise_transfer",
    "first_token",
)


def is_apart(scenario: Scenario) -> bool:
    """Whether the scheduler of a scenario has pools.

    Parameters
    ----------
    scenario : Scenario

    Examples
    --------
    >>> is_apart(Scenario(scheduler="disaggregated(max_seqs=8)"))
    True
    """
    return parse_scheduler(scenario.scheduler).name == DISAGGREGATED


def check_pool_fields(scenarios: Sequence[Scenario]) -> None:
    """Raise if something was said of pools, and no scheduler of the scenarios has any.

    Parameters
    ----------
    scenarios : sequence of Scenario

    Raises
    ------
    ConfigError
        Names the field.

    Examples
    --------
    >>> check_pool_fields([Scenario(scheduler="disaggregated", decode_replicas=2), Scenario()])
    """
    given = [name for name in _FIELDS if any(name in scenario.changed() for scenario in scenarios)]
    if given and not any(is_apart(scenario) for scenario in scenarios):
        names = ", ".join(repr(name) for name in dict.fromkeys(one.scheduler for one in scenarios))
        value = getattr(scenarios[0], given[0])
        raise ConfigError(
            f"{given[0]}: {value} given, but {names} has no pools; leave it out, or take the scheduler "
            f"{DISAGGREGATED}"
        )


def pool_cluster_of(scenario: Scenario) -> ClusterSpec:
    """All instances of a scenario whose scheduler has pools; the router is that of new requests.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    ConfigError
        If something is said of the cluster that does not go with pools.
    """
    checks.one_of("first_token", scenario.first_token, FIRST_TOKENS)
    x, y = scenario.prefill_replicas, scenario.decode_replicas
    if scenario.replicas not in (1, x + y):
        raise ConfigError(
            f"replicas: {scenario.replicas} given, but {DISAGGREGATED} has {x} + {y} of them; leave it out, "
            "or say the same with prefill_replicas and decode_replicas"
        )
    if scenario.load_delay_s:
        raise ConfigError(
            f"load_delay_s: {scenario.load_delay_s:g} given, but pools know their loads at any time; "
            "leave it out"
        )
    router = parse_router(scenario.router if "router" in scenario.changed() else "least_requests")
    make_router(router)
    return ClusterSpec(n_replicas=x + y, router=router)


def pools_of(
    scenario: Scenario, spec: ReplicaSpec, policy: Policy, replica: Replica, cluster: ClusterSpec
) -> Pools:
    """The pools of a scenario: equal machines on both sides.

    Instances that decode take what has come as long as there is room, and have a budget for a whole sequence.

    Parameters
    ----------
    scenario : Scenario
    spec : ReplicaSpec
        Of an instance.
    policy : Policy
        Of the instances that compute prompts.
    replica : Replica
    cluster : ClusterSpec
        As of `pool_cluster_of`.
    """
    decode = replace(policy, composition=Chunked(), budget_tokens=spec.max_model_len_tokens + policy.max_seqs)
    kv_bytes = spec.model.kv_bytes_per_token(spec.roofline.kv_dtype)
    link = Link(
        tokens_per_s=scenario.link_bytes_per_s / kv_bytes,
        latency_s=scenario.link_latency_s,
        n_layers=spec.model.layers if scenario.layerwise_transfer else 1,
        is_shared=scenario.link_shared,
    )
    return Pools(
        prefill=[Member(policy, replica)] * scenario.prefill_replicas,
        decode=[Member(decode, replica)] * scenario.decode_replicas,
        link=link,
        first_token=scenario.first_token,
        prefill_router=make_router(cluster.router),
    )


def as_cluster(found: PoolRecords, n_prefill: int) -> ClusterRecords:
    """Instances as replicas, those that compute prompts first; a request is of the one that had it last.

    Parameters
    ----------
    found : PoolRecords
    n_prefill : int
        Instances that compute prompts.
    """
    replica = np.where(found.decode >= 0, found.decode + n_prefill, found.prefill)
    return ClusterRecords(
        records=replace(found.records, replica=replica),
        replica=replica,
        n_moves=np.zeros(len(replica), dtype=np.int64),
        n_replicas=len(found.instances),
        parts=found.instances,
        part_replica=tuple(range(len(found.instances))),
    )
