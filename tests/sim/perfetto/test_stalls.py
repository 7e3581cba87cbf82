"""The longest gaps are those of the records, and the right requests are named for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from qtheory.basics.errors import ConfigError
from qtheory.system.workload.request import Requests
from sim.perfetto import Watch, longest_stalls
from sim.policies import Policy, PrefillFirst
from sim.reference import simulate
from sim.replica import Replica
from sim.testing import AffineStep, request_lists

STEP = AffineStep(base_s=0.3, per_token_s=0.01)
SMALL = Replica(step_time=STEP, n_blocks=14, block_tokens=4)
POLICY = Policy(name="x", budget_tokens=64, max_seqs=4)


def watch_of(requests, policy, replica):
    watch = Watch(1, requests.prompt_tokens.tolist(), [replica.n_blocks])
    return simulate(requests, policy, replica, observer=watch.observers[0]), watch


@given(request_lists())
@settings(max_examples=60)
def test_all_gaps_of_the_records_are_there(requests) -> None:
    records, watch = watch_of(requests, POLICY, SMALL)
    gap_s, n_tokens = records.gaps.expand()
    found = [(stall.gap_s, stall.n_requests) for stall in longest_stalls(watch, 10_000)]
    assert sum(n for _, n in found) == int(np.sum(n_tokens))
    ours = np.repeat([gap for gap, _ in found], [n for _, n in found])
    assert np.allclose(np.sort(ours), np.sort(np.repeat(gap_s, n_tokens)))


def test_several_prompts_in_a_row_stall_a_decode_together() -> None:
    requests = Requests(arrival_s=[0.0, 0.4, 0.5], prompt_tokens=[8, 60, 50], output_tokens=[5, 1, 1])
    policy = replace(POLICY, composition=PrefillFirst())
    _, watch = watch_of(requests, policy, Replica(step_time=STEP, n_blocks=200, block_tokens=4))
    stall = longest_stalls(watch, 1)[0]
    assert (stall.n_requests, stall.requests, stall.n_steps) == (1, (0,), 3)
    assert stall.because == "prompts of request 1 (60 tokens), 2 (50 tokens)"


def test_a_preempted_request_is_said_to_have_lost_its_memory() -> None:
    requests = Requests(arrival_s=[0.0, 0.0], prompt_tokens=[16, 16], output_tokens=[24, 24])
    _, watch = watch_of(requests, POLICY, SMALL)
    stall = longest_stalls(watch, 1)[0]
    assert stall.requests == (1,)
    assert stall.because.startswith("preempted: its memory went to others; prompt of request 1 (")


def test_gaps_outside_the_window_are_left_out() -> None:
    requests = Requests(arrival_s=[0.0], prompt_tokens=[8], output_tokens=[20])
    _, watch = watch_of(requests, POLICY, SMALL)
    assert {stall.n_steps for stall in longest_stalls(watch, 100)} == {1}
    assert all(stall.from_s <= 2.0 for stall in longest_stalls(watch, 100, window=(0.0, 2.0)))
    assert longest_stalls(watch, 100, window=(0.0, 2.0))


def test_at_least_one_gap_is_asked_for() -> None:
    with pytest.raises(ConfigError, match="stalls: 0"):
        longest_stalls(Watch(1, [], [1]), 0)
