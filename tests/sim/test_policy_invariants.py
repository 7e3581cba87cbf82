"""What holds for single policies of the reference engine; numbers as in tests/INVARIANTS.md."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from qtheory.system.workload.request import Requests
from sim.observe import Iteration
from sim.policies import (
    Chunked,
    EarliestDeadline,
    LeastServed,
    Mixed,
    Policy,
    PrefillFirst,
    PrefillFirstChunked,
    Shedding,
    Static,
)
from sim.record import Status
from sim.reference import simulate
from sim.replay import Replay
from sim.replica import Replica
from sim.testing import AffineStep, ConstantStep, alike, request_lists

AMPLE = 10_000  # blocks that are never short
COMPOSITIONS = [
    Chunked(),
    Chunked(whole_prompts=True),
    Mixed(),
    PrefillFirst(),
    PrefillFirstChunked(),
    Static(),
]


def run(requests, policy, replica):
    replay = Replay(requests, policy, replica)
    return simulate(requests, policy, replica, observer=replay), replay


@given(request_lists(), st.sampled_from([1, 4, 16]), st.sampled_from(COMPOSITIONS))
def test_first_come_is_first_scheduled(requests, size, composition):  # invariant 7
    policy = Policy(name="fcfs", composition=composition, budget_tokens=64, max_seqs=3)
    step = AffineStep(base_s=0.3, per_token_s=0.01)
    records, _ = run(requests, policy, Replica(step_time=step, n_blocks=AMPLE, block_tokens=size))
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
