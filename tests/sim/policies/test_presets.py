"""The presets of engines, and the policies of one ordering, by their pieces and on random work."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.system.scheduler import SCHEDULERS, SchedulerSpec
from qtheory.system.workload.request import Requests
from sim.observe import Iteration
from sim.policies import (
    Chunked,
    DepthFirst,
    Expected,
    Fcfs,
    FewestOutput,
    FullPrompt,
    Joining,
    LastAdmitted,
    LastCome,
    LeastServed,
    LongestPrefix,
    NoEvict,
    Policy,
    PrefillFirst,
    PrefillFirstChunked,
    Unskipped,
    make_policy,
    policy_meaning,
)
from sim.record import Status
from sim.reference import simulate
from sim.replay import Replay
from sim.replica import Replica
from sim.testing import AffineStep, ConstantStep, alike, request_lists

TABLE = {
    "vllm": ("schedule", "share", "chunk", 0.0, "busy", "exact", "arrival"),
    "vllm-v0": ("step_end", "share", "full", 0.01, "always", "conservative", "head"),
    "sglang": ("step_end", "share", "chunk", 0.0, "busy", "exact", "arrival"),
    "trtllm": ("step_end", "skip", "chunk", 0.0, "busy", "exact", "arrival"),
    "sarathi": ("step_end", "share", "full", 0.01, "always", "conservative", "head"),
}
PIECES = {
    "vllm": (Chunked(), Fcfs(), FullPrompt(), LastAdmitted()),
    "vllm-v0": (PrefillFirst(), Fcfs(), FullPrompt(), LastAdmitted()),
    "sglang": (PrefillFirstChunked(), Joining(), Expected(), FewestOutput()),
    "trtllm": (Chunked(), Fcfs(), NoEvict(), LastAdmitted()),
    "sarathi": (Chunked(), Fcfs(), FullPrompt(), LastAdmitted()),
    "cache_aware": (Chunked(), LongestPrefix(), FullPrompt(), LastAdmitted()),
    "fair": (Chunked(), LeastServed(), FullPrompt(), LastAdmitted()),
    "lifo": (Chunked(), LastCome(), FullPrompt(), LastAdmitted()),
}


def made(name, **options):
    return make_policy(SchedulerSpec(name=name, **options))


@pytest.mark.parametrize("name", PIECES)
def test_a_preset_has_the_pieces_of_its_engine(name):
    policy = made(name)
    assert (policy.composition, policy.ordering, policy.admission, policy.victim) == PIECES[name]
    assert policy.preemption == "recompute"


@pytest.mark.parametrize("name", TABLE)
def test_a_preset_has_the_rules_of_its_engine(name):
    policy = made(name)
    assert (
        policy.cache_commit,
        policy.in_batch,
        policy.prefill_alloc,
        policy.watermark_frac,
        policy.watermark_scope,
        policy.append_rule,
        policy.on_unfit,
    ) == TABLE[name]


def test_options_change_the_order_by_prefix():
    assert made("cache_aware", cache_order="dfs-weight").ordering == DepthFirst()
    assert made("cache_aware", sharing_tokens=8, max_queue=9).ordering == LongestPrefix(
        sharing_tokens=8, max_queue=9
    )
    guarded = Unskipped(inner=LongestPrefix(), max_skip=4)
    assert made("cache_aware", max_skip=4).ordering == guarded
    assert made("sglang", cache_order="lpm", max_skip=4).ordering == guarded
    assert made("cache_aware", composition="prefill_first_chunked").composition == PrefillFirstChunked()
    assert made("cache_aware", chunked_prefill=False).composition == Chunked(whole_prompts=True)


def test_options_change_what_fair_means():
    order = made("fair", prompt_weight=2.0, output_weight=0.5, client_weights=[3, 1]).ordering
    assert order == LeastServed(prompt_weight=2.0, output_weight=0.5, client_weights=(3.0, 1.0))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("chunked", {"cache_order": "lpm"}),
        ("fair", {"max_skip": 3}),
        ("cache_aware", {"prompt_weight": 1.0}),
        ("vllm", {"sharing_tokens": 3}),
        ("sglang", {"max_queue": 3}),
        ("sglang", {"chunked_prefill": False}),
        ("cache_aware", {"sharing_tokens": 3, "cache_order": "dfs-weight"}),
        ("chunked", {"deadline_order": "edf"}),
        ("cache_aware", {"chunked_prefill": False, "composition": "prefill_first_chunked"}),
        ("sarathi", {"chunked_prefill": False}),
        ("vllm-v0", {"chunked_prefill": True}),
        ("lifo", {"composition": "chunked"}),
    ],
)
def test_an_option_without_a_meaning_is_refused_by_name(name, options):
    with pytest.raises(ConfigError, match=rf"^{next(iter(options))}: "):
        made(name, **options)


@pytest.mark.parametrize("name", SCHEDULERS)
def test_every_scheduler_says_what_it_does_in_a_sentence(name):
    meaning = policy_meaning(name)
    assert meaning.endswith(".")
    assert "[1]" not in meaning


@settings(max_examples=150)
@given(
    request_lists(),
    st.sampled_from(SCHEDULERS),
    st.integers(12, 60),
    st.sampled_from([1, 4, 8]),
    st.booleans(),
)
def test_every_scheduler_keeps_the_rules_of_a_step_over_shared_prefixes(  # invariants 2, 3, 5
    requests, name, n_blocks, size, is_shared
):
    policy = made(name, budget_tokens=64, max_seqs=5)
    step = AffineStep(base_s=0.3, per_token_s=0.01, per_context_token_s=0.001)
    replica = Replica(step_time=step, n_blocks=n_blocks, block_tokens=size, prefix_cache=is_shared)
    replay = Replay(requests, policy, replica)
    records = simulate(requests, policy, replica, contents=alike(requests), observer=replay)
    finished = records.status == Status.FINISHED
    given_up = np.isin(records.status, [Status.SHED, Status.REJECTED, Status.ABORTED])
    assert np.all(finished | given_up)
    for row in np.flatnonzero(finished):
        assert replay.n_tokens[row] == requests.output_tokens[row]


@given(request_lists(), st.integers(1, 4))
def test_last_come_is_first_served(requests, max_seqs):
    seen: list[Iteration] = []
    policy = Policy(name="lifo", ordering=LastCome(), max_seqs=max_seqs, budget_tokens=64)
    simulate(requests, policy, Replica(step_time=ConstantStep(), n_blocks=10_000), observer=seen.append)
    waiting = set(range(len(requests)))
    for step in seen:
        for job in step.cached:
            there = {other for other in waiting if requests.arrival_s[other] <= step.start_s + 1e-9}
            assert job == max(there)
            waiting.remove(job)


@given(st.integers(1, 40), st.integers(1, 5), st.integers(1, 3), st.sampled_from([1.0, 2.0, 3.0]))
def test_backlogged_clients_are_served_by_their_weights(prompt, output, max_seqs, weight):  # invariant 9
    n = 40
    requests = Requests(
        arrival_s=np.zeros(n),
        prompt_tokens=np.full(n, prompt),
        output_tokens=np.full(n, output),
        client=np.arange(n) % 2,
    )
    order = LeastServed(client_weights=(weight, 1.0))
    bound = 2 * max(order.prompt_weight * prompt, order.output_weight * max_seqs * output)
    waiting = {0: n // 2, 1: n // 2}
    served = {0: 0, 1: 0}

    def check(step: Iteration) -> None:
        for job in step.cached:
            waiting[job % 2] -= 1
            served[job % 2] += 1
        if all(waiting.values()):
            assert abs(step.counters[0] - step.counters[1]) <= bound
            charge = prompt + 2 * output  # a request in all; those inside are charged in part
            assert abs(served[0] / weight - served[1]) * charge <= bound + 2 * max_seqs * charge

    policy = Policy(name="fair", ordering=order, budget_tokens=100, max_seqs=max_seqs)
    simulate(requests, policy, Replica(step_time=ConstantStep(), n_blocks=10_000), observer=check)
