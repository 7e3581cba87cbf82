"""One run of a point, on one replica or on several behind a router."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qtheory.basics.errors import ConfigError
from qtheory.system.cluster import ClusterSpec, parse_router
from qtheory.system.replica import ReplicaSpec
from qtheory.system.results import RunResult
from qtheory.system.scenario import Scenario
from qtheory.system.slo import Slo
from qtheory.system.workload import Workload
from qtheory.system.workload.request import Requests
from sim.clients import Patience, simulate_retries
from sim.cluster import (
    ClusterRecords,
    Member,
    measure_cluster,
    simulate_cluster,
    simulate_pools,
    summarize_cluster,
    why_pools_stepwise,
    why_reference,
)
from sim.engine import measure, simulate, why_stepwise
from sim.kvcache.texts import TextContents
from sim.perfetto import Watch
from sim.policies import Policy, make_policy
from sim.record import Records
from sim.reference import simulate as step_by_step
from sim.replica import Replica
from sim.routing import Router, make_router
from sim.statistics import seeds
from sim.summary import summarize

from .apart import as_cluster, is_apart, pool_cluster_of, pools_of
from .by_tenant import tenant_rows
from .patient import WHY_STEPWISE as WHY_PATIENT
from .patient import patience_of, summarize_attempts

__all__ = ["ServedRun", "Setting", "cluster_of"]


def _with_limits(requests: Requests, slo: Slo) -> Requests:
    """Every request with the limit per output token of all."""
    if slo.tpot_s is None:
        raise ConfigError("tpot_slo_s: there is none, but chunk_size=slack goes by it; give one")
    return replace(requests, tpot_slo_s=np.full(len(requests), slo.tpot_s))


def cluster_of(scenario: Scenario) -> ClusterSpec:
    """Replicas and router of a scenario.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    ConfigError
        If the router is unknown or an option of it out of its range, or one replica is to have a router.
    """
    if is_apart(scenario):
        return pool_cluster_of(scenario)
    router = parse_router(scenario.router)
    for name in ("router", "load_delay_s"):
        if scenario.replicas == 1 and name in scenario.changed():
            raise ConfigError(
                f"{name}: {getattr(scenario, name)} given, but there is one replica; add replicas"
            )
    make_router(router)
    return ClusterSpec(n_replicas=scenario.replicas, router=router, load_delay_s=scenario.load_delay_s)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ServedRun:
    """Records of a run, its numbers, and why it went step by step, if it did."""

    records: Records
    result: RunResult
    stepwise: str | None


class Setting:
    """What serves a point, built for one run of it.

    Parameters
    ----------
    scenario : Scenario
    spec : ReplicaSpec
    workload : Workload
    cluster : ClusterSpec
    requests : Requests
        Of this run.
    """

    def __init__(
        self,
        scenario: Scenario,
        spec: ReplicaSpec,
        *,
        workload: Workload,
        cluster: ClusterSpec,
        requests: Requests,
    ) -> None:
        self._scenario, self._workload, self._cluster = scenario, workload, cluster
        self._peak = spec.roofline
        self._policy: Policy = make_policy(spec.scheduler)
        self._has_own_limits = requests.tpot_slo_s is not None
        self._requests = _with_limits(requests, workload.slo) if self._asks_for_limits() else requests
        self._replica = Replica(
            step_time=spec.step_time,
            n_blocks=spec.n_blocks,
            block_tokens=spec.block_tokens,
            max_model_len_tokens=spec.max_model_len_tokens,
            prefix_cache=spec.prefix_cache,
        )

        self._patience = patience_of(scenario)
        self._pools = None
        if is_apart(scenario):
            self._pools = pools_of(scenario, spec, self._policy, self._replica, cluster)

    def _asks_for_limits(self) -> bool:
        """Whether the policy reads the limits per output token, and requests have none of their own."""
        return self._policy.chunk_size == "slack" and not self._has_own_limits

    def _client(self) -> dict[str, Any]:
        workload, stop_s = self._workload, self._scenario.stop_s
        until_s = math.inf if stop_s is None else stop_s
        return {"client_cap": workload.client_cap, "think_s": workload.think_s, "until_s": until_s}

    def lean(self, about: dict[str, Any], *, index: int) -> RunResult:
        """Numbers of a run of which nothing is kept but sums and histograms."""
        if self._pools is not None:
            raise ConfigError("no_records: given, but prefill and decode apart need them; leave it out")
        if self._has_own_limits:
            raise ConfigError("no_records: given, but tenants with limits of their own need them")
        if self._cluster.n_replicas > 1:
            return RunResult(**about | self._measured(index))
        numbers = measure(
            self._requests,
            self._policy,
            self._replica,
            self._workload.slo,
            peak=self._peak,
            **self._client(),
        )
        return RunResult(**about | numbers)

    def _measured(self, index: int) -> dict[str, Any]:
        return measure_cluster(
            self._requests,
            self._members(),
            make_router(self._cluster.router),
            self._workload.slo,
            peak=self._peak,
            load_delay_s=self._cluster.load_delay_s,
            seed=_routing_seed(self._scenario.seed, index),
            contents=TextContents.of(self._requests) if self._replica.prefix_cache else None,
            **self._client(),
        )

    def serve(self, about: dict[str, Any], *, n_windows: int, index: int) -> ServedRun:
        """Records and numbers of the run; replication ``index`` gives a router its random numbers."""
        common: dict[str, Any] = {"peak": self._peak, "n_windows": n_windows, **about}
        slo = self._workload.slo
        if self._patience is not None:
            return self._serve_patient(self._patience, common)
        if self._cluster.n_replicas == 1:
            records = simulate(self._requests, self._policy, self._replica, **self._client())
            result = self._with_more(summarize(records, slo, policy=self._policy, **common), records)
            stepwise = why_stepwise(self._requests, self._policy, self._replica)
            return ServedRun(records=records, result=result, stepwise=stepwise)
        router = make_router(self._cluster.router)
        found = self._together(router, index, **self._client())
        result = summarize_cluster(found, slo, policies=self._policies(), **common)
        result = self._with_more(result, found.records)
        return ServedRun(records=found.records, result=result, stepwise=self._why())

    def _serve_patient(self, patience: Patience, common: dict[str, Any]) -> ServedRun:
        """Clients that time out, on the reference engine."""
        found = simulate_retries(
            self._requests, self._policy, self._replica, patience, until_s=self._client()["until_s"]
        )
        records, result = summarize_attempts(found, self._workload.slo, policy=self._policy, **common)
        return ServedRun(records=records, result=self._with_more(result, records), stepwise=WHY_PATIENT)

    def watch(self, *, index: int, until_s: float) -> tuple[Records | ClusterRecords, Watch]:
        """The same run, step by step up to a moment, with everything that is seen in it."""
        if self._patience is not None:
            raise ConfigError("timeout_s: given, but no look inside a run has clients that time out")
        n, replica = self._cluster.n_replicas, self._replica
        watch = Watch(n, self._requests.prompt_tokens.tolist(), [replica.n_blocks] * n)
        client = self._client()
        client["until_s"] = min(client["until_s"], until_s)
        if n > 1:
            router = make_router(self._cluster.router)
            return self._together(router, index, observers=watch.observers, **client), watch
        contents = TextContents.of(self._requests) if replica.prefix_cache else None
        records = step_by_step(
            self._requests, self._policy, replica, contents=contents, observer=watch.observers[0], **client
        )
        return records, watch

    def _together(self, router: Router, index: int, **more: Any) -> ClusterRecords:
        """All replicas, or all instances of the pools."""
        more["seed"] = _routing_seed(self._scenario.seed, index)
        more["contents"] = TextContents.of(self._requests) if self._replica.prefix_cache else None
        if self._pools is not None:
            found = simulate_pools(self._requests, self._pools, **more)
            return as_cluster(found, len(self._pools.prefill))
        return simulate_cluster(
            self._requests, self._members(), router, load_delay_s=self._cluster.load_delay_s, **more
        )

    def _members(self) -> list[Member]:
        if self._pools is not None:
            return [*self._pools.prefill, *self._pools.decode]
        return [Member(self._policy, self._replica)] * self._cluster.n_replicas

    def _policies(self) -> list[Policy]:
        return [member.policy for member in self._members()]

    def _with_more(self, result: RunResult, records: Records) -> RunResult:
        """The numbers with what each tenant got, and what the prefix cache has spared, if there is one."""
        result = replace(result, tenants=tenant_rows(records, self._workload.slo))
        if not self._replica.prefix_cache:
            return result
        asked = ~np.isnan(records.first_scheduled_s)
        n_asked = int(records.requests.prompt_tokens[asked].sum())
        n_cached = int(records.cached_tokens[asked].sum())
        return replace(result, cached_tokens=n_cached, cached_frac=n_cached / n_asked if n_asked else 0.0)

    def _why(self) -> str | None:
        """The reason for which a cluster ran step by step, or None."""
        if self._pools is not None:
            reason = why_pools_stepwise(self._requests, self._pools)
            return None if reason is None else f"prefill and decode apart: {reason}"
        return why_reference(self._requests, self._members())


def _routing_seed(seed: int, index: int) -> int:
    """Apart from the numbers that give the requests of the same replication."""
    return int(seeds(seed, index + 1)[index].spawn(1)[0].generate_state(1, np.uint64)[0])
