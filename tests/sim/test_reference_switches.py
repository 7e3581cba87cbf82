"""Rules that only some engines have: what each of them changes, on cases that can be checked by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.steptime import StepLoad
from qtheory.system.workload.block_hashes import BlockHashes
from qtheory.system.workload.request import Requests
from sim.engine import simulate, why_stepwise
from sim.kvcache import Contents, KvMemory
from sim.policies import FirstAdmitted, FirstChunk, Policy, PrefillFirstChunked
from sim.record import Records
from sim.reference import simulate as step_by_step
from sim.replica import Replica
from sim.testing import AffineStep, ConstantStep


def twins(prompt_tokens: int, *, output_tokens: int = 2, second_s: float = 10.0) -> Requests:
    """Two requests with the same prompt, of blocks of 16 tokens."""
    n = -(-prompt_tokens // 16)
    return Requests(
        arrival_s=[0.0, second_s],
        prompt_tokens=[prompt_tokens] * 2,
        output_tokens=[output_tokens] * 2,
        block_hashes=BlockHashes(ids=[*range(n)] * 2, offsets=[0, n, 2 * n], block_tokens=16),
    )


def served(requests: Requests, *, step: Any = None, **policy: Any) -> Records:
    replica = Replica(step_time=step or ConstantStep(1.0), n_blocks=64, prefix_cache=True)
    return simulate(requests, Policy(name="x", **policy), replica)


def test_a_prompt_that_is_all_cached_computes_its_last_block_or_nothing() -> None:
    per_token = AffineStep(base_s=1.0, per_token_s=0.01)
    last = served(twins(64), step=per_token)
    nothing = served(twins(64), step=per_token, whole_hit="nothing")
    assert last.cached_tokens.tolist() == [0, 48]
    assert nothing.cached_tokens.tolist() == [0, 64]
    assert last.first_token_s[1] == pytest.approx(10 + 1 + 16 * 0.01)
    assert nothing.first_token_s[1] == pytest.approx(10 + 1 + 0.01)  # as a decode
    assert nothing.steps.n_decodes.tolist()[-2:] == [1, 1]


def test_a_prompt_that_is_not_all_cached_is_served_alike_under_both_rules() -> None:
    one, other = served(twins(70)), served(twins(70), whole_hit="nothing")
    assert one.finish_s.tolist() == other.finish_s.tolist()
    assert one.cached_tokens.tolist() == other.cached_tokens.tolist() == [0, 64]


def test_a_budget_in_blocks_counts_and_cuts_prompts_in_whole_blocks() -> None:
    requests = Requests(arrival_s=[0.0, 0.0], prompt_tokens=[17, 40], output_tokens=[1, 1])
    replica = Replica(step_time=ConstantStep(1.0), n_blocks=64)
    computed = []
    for unit in ("token", "block"):
        policy = Policy(name="x", composition=PrefillFirstChunked(), budget_tokens=48, budget_unit=unit)
        computed.append(simulate(requests, policy, replica).steps.prefill_tokens.tolist())
    assert computed == [[48, 9], [17 + 16, 24]]


def test_a_place_for_the_sampled_token_is_taken_one_step_earlier() -> None:
    used = []
    requests = Requests(arrival_s=[0.0], prompt_tokens=[16], output_tokens=[3])
    for ahead in (0, 1):
        policy = Policy(name="x", lookahead_tokens=ahead)
        records = step_by_step(requests, policy, Replica(step_time=ConstantStep(1.0), n_blocks=4))
        used.append(records.steps.used_blocks.tolist())
    assert used == [[1, 2, 2], [2, 2, 2]]


def test_a_sampled_token_that_has_its_place_fills_a_block_for_others() -> None:
    text = list(range(100, 115))
    requests = Requests(arrival_s=[0.0, 0.5], prompt_tokens=[15, 18], output_tokens=[3, 1])
    contents = Contents(prompts=[text, [*text, 7, 8, 9]], outputs=[[7, 1, 2], None])
    replica = Replica(step_time=ConstantStep(1.0), n_blocks=8, prefix_cache=True)
    found = []
    for ahead in (0, 1):
        policy = Policy(name="x", lookahead_tokens=ahead, cache_commit="step_end")
        found.append(step_by_step(requests, policy, replica, contents=contents).cached_tokens.tolist())
    assert found == [[0, 0], [0, 16]]


def test_a_prompt_without_a_place_for_its_token_is_computed_in_vain_while_the_others_decode() -> None:
    """Four blocks: the first job has two, the prompts of the others end with theirs."""
    requests = Requests(arrival_s=[0.0, 0.5, 0.5], prompt_tokens=[16, 16, 16], output_tokens=[4, 1, 1])
    replica = Replica(step_time=AffineStep(base_s=1.0, per_token_s=0.01), n_blocks=4)
    seen = []
    for place in ("with_prompt", "after_prompts"):
        policy = Policy(
            name="x", composition=PrefillFirstChunked(), lookahead_tokens=1, first_place=place,
            admission=FirstChunk(), budget_tokens=64,
        )  # fmt: skip
        records = step_by_step(requests, policy, replica)
        steps = records.steps
        seen.append((steps.n_decodes.tolist(), steps.prefill_tokens.tolist(), records.n_preemptions.tolist()))
    assert seen[0] == ([0, 0, 0, 1, 1, 1], [16, 16, 16, 0, 0, 0], [0, 0, 0])
    assert seen[1] == ([0, 1, 0, 1, 1], [16, 32, 16, 0, 0], [0, 1, 0])


def test_copies_of_a_block_are_kept_or_given_back() -> None:
    free = []
    for keeps in (True, False):
        memory = KvMemory(n_blocks=8, block_tokens=16, prefix_cache=True, keeps_copies=keeps)
        for owner in ("a", "b"):
            memory.open(owner, [], 40)
        for owner in ("a", "b"):
            memory.publish(owner, [1, 2], 40)
        free.append(memory.n_free)
        assert memory.lookup([1, 2], 40) == [0, 1]
        for owner in ("a", "b"):
            memory.close(owner)
        assert memory.n_free == 8
    assert free == [2, 4]


def test_twins_give_their_copies_back_at_the_end_of_the_step() -> None:
    requests = twins(64, second_s=0.0)
    policy = Policy(name="x", cache_commit="step_end")
    used = []
    for keeps in (True, False):
        replica = Replica(step_time=ConstantStep(1.0), n_blocks=64, prefix_cache=True, keeps_copies=keeps)
        used.append(simulate(requests, policy, replica).steps.used_blocks.tolist())
    assert used == [[8, 10], [8, 6]]


def test_the_oldest_job_can_be_the_victim() -> None:
    requests = Requests(arrival_s=[0.0, 0.0], prompt_tokens=[16, 15], output_tokens=[20, 20])
    replica = Replica(step_time=ConstantStep(1.0), n_blocks=3)
    records = simulate(requests, Policy(name="x", victim=FirstAdmitted()), replica)
    assert records.n_preemptions.tolist()[0] >= 1
    assert records.n_preemptions.tolist()[1] == 0


def test_a_replica_may_count_in_its_own_way_and_records_keep_to_the_one_rule() -> None:
    def doubled(tokens: Mapping[Any, int]) -> StepLoad:
        return StepLoad(prefill_tokens=2 * sum(tokens.values()), n_sampled=1)

    requests = Requests(arrival_s=[0.0], prompt_tokens=[10], output_tokens=[1])
    step = AffineStep(base_s=1.0, per_token_s=0.1)
    replica = Replica(step_time=step, n_blocks=4, counting=doubled)
    records = simulate(requests, Policy(name="x"), replica)
    assert records.finish_s.tolist() == [3.0]
    assert records.steps.prefill_tokens.tolist() == [10]


@pytest.mark.parametrize(
    ("policy", "replica"),
    [
        ({"whole_hit": "nothing"}, {}),
        ({"budget_unit": "block"}, {}),
        ({"lookahead_tokens": 1}, {}),
        ({"first_place": "after_prompts"}, {}),
        ({}, {"keeps_copies": False}),
        ({}, {"eviction": "used"}),
        ({}, {"counting": lambda tokens: StepLoad(prefill_tokens=1)}),
    ],
)
def test_the_fast_engine_leaves_these_rules_to_the_reference(
    policy: dict[str, Any], replica: dict[str, Any]
) -> None:
    where = Replica(step_time=ConstantStep(1.0), n_blocks=64, prefix_cache=True, **replica)
    reason = why_stepwise(twins(64), Policy(name="x", **policy), where)
    assert reason is not None
    assert next(iter({**policy, **replica})) in reason


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"whole_hit": "nothin"}, "whole_hit: unknown 'nothin'"),
        ({"budget_unit": "blocks"}, "did you mean 'block'"),
        ({"lookahead_tokens": -1}, "lookahead_tokens"),
        ({"first_place": "after_prompt"}, "did you mean 'after_prompts'"),
    ],
)
def test_words_that_are_not_known_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Policy(name="x", **given)


def test_a_replica_wants_true_or_false_for_copies() -> None:
    with pytest.raises(ConfigError, match="keeps_copies: 1 must be true or false"):
        Replica(step_time=ConstantStep(1.0), n_blocks=4, keeps_copies=1)  # type: ignore[arg-type]
