"""Serving a case once: the engine, by the rules of the case."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qtheory.system.steptime import StepTime
from qtheory.system.steptime.table import Table
from qtheory.system.workload.request import Requests
from sim import engine
from sim.policies import Policy
from sim.record import Records
from sim.replica import Replica

from ._case import Case
from ._counting import RoundedMeanContext, RoundedMeans

__all__ = ["replay"]


def replay(case: Case, scale: float = 1.0) -> Records:
    """The records of the case's trace at so many times its speed.

    A sweep over rates is served by the fast engine where its rules are the same: where no request is
    preempted. Everything else is served step by step.

    Raises
    ------
    ServingError
        If the requests cannot be served.
    """
    requests = case.trace.requests
    if scale != 1.0:
        requests = replace(requests, arrival_s=requests.arrival_s / scale)
    policy, replica = _policy(case, requests), _replica(case)
    if case.rates:
        quick = _quick(case, replica)
        if engine.why_stepwise(requests, policy, quick) is None:
            records = engine.simulate(requests, policy, quick)
            if not np.any(records.n_preemptions):
                return records
    return engine.simulate(requests, policy, replica)


def _replica(case: Case) -> Replica:
    return Replica(
        step_time=_step_time(case),
        n_blocks=case.sizes["num_blocks"],
        block_tokens=case.sizes["block_size"],
        prefix_cache=case.has_prefix_cache,
        keeps_copies=case.rules.keeps_copies,
        eviction=case.rules.eviction,
        counting=case.rules.counting,
    )


def _step_time(case: Case) -> StepTime:
    if isinstance(case.step_time, Table) and case.rules.has_rounded_means:
        return RoundedMeanContext(table=case.step_time)
    return case.step_time


def _quick(case: Case, replica: Replica) -> Replica:
    """The replica for the fast engine, which counts by the one rule."""
    counting = case.rules.counting
    if counting is None or not counting.means_are_rounded:
        return replace(replica, counting=None)
    rounded = RoundedMeans(step_time=_step_time(case), budget_tokens=case.sizes["max_batch_tokens"])
    return replace(replica, counting=None, step_time=rounded)


def _policy(case: Case, requests: Requests) -> Policy:
    policy = case.rules.policy(
        budget_tokens=case.sizes["max_batch_tokens"],
        max_seqs=case.sizes["max_seqs"],
        block_tokens=case.sizes["block_size"],
    )
    if policy.whole_hit == "nothing" and not _may_be_whole(requests, case.sizes["block_size"]):
        return replace(policy, whole_hit="last_block")
    return policy


def _may_be_whole(requests: Requests, block_tokens: int) -> bool:
    """Whether a prompt ends with a block, and others begin with all of its ids."""
    hashes = requests.block_hashes
    if hashes is None:
        return False
    ids = [tuple(hashes.row(i).tolist()) for i in range(len(requests))]
    ends = {row for row, n in zip(ids, requests.prompt_tokens.tolist(), strict=True) if n % block_tokens == 0}
    sizes = {len(row) for row in ends}
    seen: dict[tuple[int, ...], int] = {}
    for row in ids:
        for size in sizes:
            if size <= len(row) and row[:size] in ends:
                seen[row[:size]] = seen.get(row[:size], 0) + 1
    return any(n > 1 for n in seen.values())
