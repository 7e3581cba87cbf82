"""What holds on every path of the reference engine; numbers as in tests/INVARIANTS.md."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.system.workload.request import Requests
from sim.kvcache import Contents
from sim.observe import Iteration
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
from sim.replica import Replica
from sim.testing import AffineStep, ConstantStep

QUARTERS = st.integers(0, 40).map(lambda n: n / 4)
AMPLE = 10_000  # blocks that are never short


@st.composite
def request_lists(draw, max_size=10):
    rows = draw(
        st.lists(
            st.tuples(
                QUARTERS,
                st.integers(1, 40),
                st.integers(1, 12),
                st.integers(0, 5),
                st.integers(0, 3),
                st.integers(0, 2),
                st.sampled_from([1.0, 4.0, math.inf]),
                st.integers(1, 12),
            ),
            min_size=1,
            max_size=max_size,
        )
    )
    arrival, prompt, output, extra, priority, client, slo, predicted = zip(*sorted(rows), strict=True)
    return Requests(
        arrival_s=arrival,
        prompt_tokens=prompt,
        output_tokens=output,
        max_output_tokens=np.add(output, extra),
        priority=priority,
        client=client,
        ttft_slo_s=slo,
        predicted_output_tokens=predicted,
    )


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


def alike(requests: Requests) -> Contents:
    """Prompts that share prefixes: row i is ones, with a two at token i modulo 7."""
    prompts = [
        [1 + (token == row % 7) for token in range(n)]
        for row, n in enumerate(requests.prompt_tokens.tolist())
    ]
    return Contents(prompts=prompts, outputs=[None] * len(requests))


class Replay:
    """Follows a run by its iterations alone and checks the rules of a step."""

    def __init__(self, requests: Requests, policy: Policy, replica: Replica) -> None:
        self.requests, self.policy, self.replica = requests, policy, replica
        self.known = requests.prompt_tokens.tolist()
        self.computed: dict[int, int] = {}
        self.on_host: dict[int, int] = {}
        self.last_token_s: dict[int, float] = {}
        self.n_tokens: dict[int, int] = defaultdict(int)
        self.now_s = 0.0

    def __call__(self, step: Iteration) -> None:
        assert step.start_s >= self.now_s
        self.now_s = step.end_s
        for job in step.preempted:
            self.on_host[job] = self.computed[job] if job in step.swapped_out else 0
            self.computed.pop(job)
        for job, hit in step.cached.items():
            assert job not in self.computed
            assert hit <= self.known[job] - 1
            assert hit % self.replica.block_tokens == 0
            self.computed[job] = hit
        for job in step.swapped_in:
            self.computed[job] = self.on_host.pop(job)
        for event in step.events:
            if event.kind == "abort":
                self.computed.pop(event.position)
        assert sum(n for _, n in step.batch.values()) <= self.policy.budget_tokens
        assert len(step.batch) <= len(self.computed) <= self.policy.max_seqs
        for job, (phase, n) in step.batch.items():
            self.compute(job, phase, n, step.end_s)
        for job in step.finished:
            assert self.computed.pop(job) == self.known[job] - 1
        self.check_blocks(step)

    def compute(self, job: int, phase: str, n: int, end_s: float) -> None:
        assert 1 <= n <= self.known[job] - self.computed[job]
        assert phase == "prefill" or n == 1
        self.computed[job] += n
        if self.computed[job] == self.known[job]:
            self.known[job] += 1
            self.n_tokens[job] += 1
            assert end_s > self.last_token_s.get(job, -1.0)
            self.last_token_s[job] = end_s

    def check_blocks(self, step: Iteration) -> None:
        size, total = self.replica.block_tokens, self.replica.n_blocks
        held = sum(-(-n // size) for n in self.computed.values())
        if self.policy.prefill_alloc == "chunk":  # sharing can only leave more
            assert step.free_blocks >= total - held
        if not self.replica.prefix_cache:  # a whole prompt's blocks can only leave less
            assert step.free_blocks <= total - held


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


@settings(max_examples=60)
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


@given(request_lists(), REPLICAS, st.sampled_from(COMPOSITIONS))
def test_first_come_is_first_scheduled(requests, replica, composition):  # invariant 7
    policy = Policy(name="fcfs", composition=composition, budget_tokens=64, max_seqs=3)
    records, _ = run(requests, policy, replace(replica, n_blocks=AMPLE))
    assert np.all(np.diff(records.first_scheduled_s) >= 0)


@given(request_lists(), st.sampled_from(COMPOSITIONS), st.sampled_from([1, 4, 16]))
def test_memory_for_all_at_once_means_no_preemption(requests, composition, size):  # invariant 8
    requests = replace(requests, max_output_tokens=None)
    stored = requests.prompt_tokens + requests.output_tokens - 1
    n_blocks = int(np.sum(-(-stored // size)))
    policy = Policy(name="exact", composition=composition, budget_tokens=64, max_seqs=32)
    records, _ = run(
        requests, policy, Replica(step_time=ConstantStep(), n_blocks=n_blocks, block_tokens=size)
    )
    assert not records.n_preemptions.any()
    assert np.all(records.status == Status.FINISHED)


@given(request_lists(), st.integers(8, 30), st.sampled_from(["recompute", "swap"]))
def test_preemption_changes_times_but_not_outputs(requests, n_blocks, preemption):  # invariant 7
    policy = Policy(name="tight", budget_tokens=16, max_seqs=6, preemption=preemption)
    tight = Replica(step_time=ConstantStep(), n_blocks=n_blocks, block_tokens=2, n_swap_blocks=20)
    fits = -(-(requests.prompt_tokens + requests.max_output_tokens - 1) // 2) <= n_blocks
    records, replay = run(requests, policy, tight)
    assert np.array_equal(records.status == Status.FINISHED, fits)
    for row in np.flatnonzero(fits):
        assert replay.n_tokens[row] == requests.output_tokens[row]


@given(request_lists(), st.sampled_from(["schedule", "step_end"]), st.sampled_from([1, 3, 16]))
def test_a_hit_is_the_longest_prefix_that_was_published(requests, commit, size):  # invariant 4
    policy = Policy(name="cache", budget_tokens=20, max_seqs=4, cache_commit=commit)
    replica = Replica(step_time=ConstantStep(), n_blocks=AMPLE, block_tokens=size, prefix_cache=True)
    contents, seen = alike(requests), set()
    text = [
        contents.tokens(row, prompt_tokens=n, n_outputs=0) for row, n in enumerate(requests.prompt_tokens)
    ]
    computed: dict[int, int] = {}

    def publish(job: int) -> None:
        seen.update(tuple(text[job][:end]) for end in range(size, computed[job] + 1, size))

    def check(step: Iteration) -> None:
        for job, (_, n) in step.batch.items():
            if job in step.cached:
                ends = range(size, len(text[job]), size)
                longest = max((end for end in ends if tuple(text[job][:end]) in seen), default=0)
                assert step.cached[job] == longest
                computed[job] = longest
            computed[job] += n
            if commit == "schedule":
                publish(job)
        for job in step.batch:
            publish(job)

    simulate(requests, policy, replica, contents=contents, observer=check)


@given(request_lists(), st.sampled_from([5, 20, 64]), st.integers(1, 4))
def test_no_shed_request_could_still_have_been_on_time(requests, budget, max_seqs):  # invariant 9
    policy = Policy(
        name="slo",
        ordering=EarliestDeadline(),
        shed=Shedding("reject"),
        budget_tokens=budget,
        max_seqs=max_seqs,
    )
    records, _ = run(requests, policy, Replica(step_time=ConstantStep(), n_blocks=AMPLE))
    deadline_s = requests.arrival_s + requests.ttft_slo_s
    alone_s = -(-requests.prompt_tokens // budget)
    shed = records.status == Status.SHED
    assert np.all((records.finish_s + alone_s)[shed] > deadline_s[shed])
    ended = records.status == Status.FINISHED
    assert np.all(ended | shed)
    assert np.all((records.first_scheduled_s + alone_s)[ended] <= deadline_s[ended] + 1e-6)


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 5), st.integers(1, 4))
def test_backlogged_clients_are_served_alike(first_prompt, second_prompt, output, max_seqs):  # invariant 9
    n = 30
    prompts = [first_prompt if row % 2 else second_prompt for row in range(n)]
    requests = Requests(
        arrival_s=np.zeros(n),
        prompt_tokens=prompts,
        output_tokens=np.full(n, output),
        client=np.arange(n) % 2,
    )
    order = LeastServed()
    bound = 2 * max(order.prompt_weight * max(prompts), order.output_weight * max_seqs * output)
    waiting = {0: n // 2, 1: n // 2}

    def check(step: Iteration) -> None:
        for job in step.cached:
            waiting[job % 2] -= 1
        if all(waiting.values()):
            assert abs(step.counters[0] - step.counters[1]) <= bound

    policy = Policy(name="fair", ordering=order, budget_tokens=100, max_seqs=max_seqs)
    simulate(requests, policy, Replica(step_time=ConstantStep(), n_blocks=AMPLE), observer=check)


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
