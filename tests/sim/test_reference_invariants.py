"""What holds on every path of the reference engine; numbers as in tests/INVARIANTS.md."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.system.workload.request import Requests
from sim.policies import (
    GATES,
    VICTIMS,
    Aged,
    Chunked,
    EarliestDeadline,
    Fcfs,
    LeastServed,
    LongestPrefix,
    Mixed,
    Policy,
    PrefillFirst,
    PrefillFirstChunked,
    Priority,
    Shedding,
    ShortestOutput,
    Static,
)
from sim.record import Records, Status
from sim.reference import simulate
from sim.replay import Replay
from sim.replica import Replica
from sim.testing import AffineStep, ConstantStep, alike, request_lists

AMPLE = 10_000  # blocks that are never short


ORDERINGS = [
    Fcfs(),
    Priority(),
    ShortestOutput(),
    EarliestDeadline(),
    Aged(inner=ShortestOutput(), limit_s=3.0),
    LongestPrefix(sharing_tokens=4),
    LeastServed(),
]
COMPOSITIONS = [
    Chunked(),
    Chunked(whole_prompts=True),
    Mixed(),
    PrefillFirst(),
    PrefillFirstChunked(),
    Static(),
]
POLICIES = st.builds(
    Policy,
    name=st.just("drawn"),
    composition=st.sampled_from(COMPOSITIONS),
    ordering=st.sampled_from(ORDERINGS),
    admission=st.sampled_from([GATES["full_prompt"], GATES["no_evict"]]),
    victim=st.sampled_from([VICTIMS["last_admitted"], VICTIMS["lowest_priority"]]),
    shed=st.sampled_from([Shedding("none"), Shedding("reject"), Shedding("demote")]),
    budget_tokens=st.sampled_from([1, 3, 8, 20, 64]),
    max_seqs=st.integers(1, 6),
    long_prefill_threshold_tokens=st.sampled_from([0, 0, 5]),
    prefill_alloc=st.sampled_from(["chunk", "full"]),
    watermark_frac=st.sampled_from([0.0, 0.2]),
    watermark_scope=st.sampled_from(["busy", "always"]),
    append_rule=st.sampled_from(["exact", "exact", "conservative"]),
    preemption=st.sampled_from(["recompute", "recompute", "swap"]),
    priority_preempt=st.sampled_from(["memory_only", "on_arrival"]),
    cache_commit=st.sampled_from(["schedule", "step_end"]),
    in_batch=st.sampled_from(["share", "skip"]),
)
REPLICAS = st.builds(
    Replica,
    step_time=st.sampled_from(
        [ConstantStep(1.0), AffineStep(base_s=0.3, per_token_s=0.01, per_context_token_s=0.001)]
    ),
    n_blocks=st.integers(2, 30),
    block_tokens=st.sampled_from([1, 2, 4, 8]),
    prefix_cache=st.booleans(),
    n_swap_blocks=st.sampled_from([0, 5, 30]),
    swap_s_per_block=st.sampled_from([0.0, 0.1]),
)


def run(requests: Requests, policy: Policy, replica: Replica, **options: object) -> tuple[Records, Replay]:
    replay = Replay(requests, policy, replica)
    contents = alike(requests) if replica.prefix_cache else None
    return simulate(requests, policy, replica, contents=contents, observer=replay, **options), replay


@given(request_lists(), POLICIES, REPLICAS, st.sampled_from([0, 0, 2]))
def test_every_step_keeps_budget_slots_and_memory(requests, policy, replica, cap):  # invariants 2, 3
    records, replay = run(requests, policy, replica, client_cap=cap, think_s=0.5)
    finished = records.status == Status.FINISHED
    for row in range(len(requests)):
        assert replay.n_tokens[row] == requests.output_tokens[row] or not finished[row]


@given(request_lists(), POLICIES, REPLICAS, st.sampled_from([0, 0, 2]))
def test_every_request_ends_once_and_time_runs_forward(requests, policy, replica, cap):  # invariant 5
    records, _ = run(requests, policy, replica, client_cap=cap)
    finished = records.status == Status.FINISHED
    given_up = np.isin(records.status, [Status.SHED, Status.REJECTED, Status.ABORTED])
    assert np.all(finished | given_up)
    assert not np.any(np.isnan(records.finish_s))
    assert np.all(records.sent_s >= requests.arrival_s)
    for earlier, later in (
        (records.sent_s, records.first_scheduled_s),
        (records.first_scheduled_s, records.first_token_s),
        (records.first_token_s, records.finish_s),
    ):
        assert np.all(earlier[finished] <= later[finished])
    gap_s, n_tokens = records.gaps.expand()
    assert np.all(gap_s > 0)
    assert n_tokens.sum() >= (requests.output_tokens[finished] - 1).sum()
    assert np.all(records.steps.end_s[:-1] <= records.steps.start_s[1:])


@given(request_lists(), POLICIES, REPLICAS)
def test_without_preemption_every_token_but_the_last_is_computed_once(
    requests, policy, replica
):  # invariant 6
    policy = replace(policy, victim=VICTIMS["last_admitted"], priority_preempt="memory_only", shed=Shedding())
    records, _ = run(requests, policy, replace(replica, n_blocks=AMPLE))
    finished = records.status == Status.FINISHED
    stored = requests.prompt_tokens + requests.output_tokens - 1 - records.cached_tokens
    steps = records.steps
    assert not records.n_preemptions.any()
    assert (steps.n_decodes + steps.prefill_tokens).sum() == stored[finished].sum()
    if not replica.prefix_cache:
        assert not records.cached_tokens.any()


@given(request_lists(), POLICIES, REPLICAS)
def test_the_engine_is_never_idle_with_work_inside(requests, policy, replica):  # invariant 6
    records, _ = run(requests, policy, replica)
    steps = records.steps
    for end_s in steps.end_s[:-1][steps.start_s[1:] > steps.end_s[:-1]]:
        assert not np.any((records.sent_s <= end_s) & (records.finish_s > end_s))


@given(request_lists(), POLICIES, REPLICAS)
def test_littles_law_holds_for_the_running_jobs_on_every_path(requests, policy, replica):  # invariant 10
    policy = replace(policy, priority_preempt="memory_only", victim=VICTIMS["last_admitted"])
    records, _ = run(requests, policy, replace(replica, n_blocks=AMPLE))
    steps = records.steps
    area = float(steps.n_running @ (steps.end_s - steps.start_s))
    ran = records.status == Status.FINISHED
    assert area == pytest.approx(float(np.sum((records.finish_s - records.first_scheduled_s)[ran])))


@given(request_lists(), POLICIES, REPLICAS)
def test_the_same_input_gives_the_same_bytes(requests, policy, replica):  # invariant 11
    first, _ = run(requests, policy, replica)
    second, _ = run(requests, policy, replica)
    for column in ("sent_s", "status", "first_scheduled_s", "first_token_s", "finish_s", "cached_tokens"):
        assert getattr(first, column).tobytes() == getattr(second, column).tobytes()
    assert first.steps.end_s.tobytes() == second.steps.end_s.tobytes()
