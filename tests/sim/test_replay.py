"""The witness of a run finds what is wrong in it."""

from __future__ import annotations

import pytest

from qtheory.basics.errors import ServingError
from qtheory.system.workload.request import Requests
from sim.observe import Event, Iteration
from sim.policies import Policy
from sim.replay import Replay
from sim.replica import Replica
from sim.testing import ConstantStep


def step(**changes):
    """A sound first step of the two requests below."""
    sound = {
        "start_s": 0.0,
        "end_s": 1.0,
        "batch": {0: ("prefill", 20), 1: ("prefill", 8)},
        "cached": {0: 0, 1: 0},
        "preempted": [],
        "swapped_out": {},
        "swapped_in": {},
        "finished": [],
        "free_blocks": 7,
        "events": [],
        "counters": {},
    }
    return Iteration(**(sound | changes))


@pytest.fixture
def replay():
    requests = Requests(arrival_s=[0, 0], prompt_tokens=[20, 8], output_tokens=[3, 3])
    policy = Policy(name="x", budget_tokens=28, max_seqs=2)
    return Replay(requests, policy, Replica(step_time=ConstantStep(), n_blocks=10))


def test_a_sound_run_passes(replay):
    replay(step())
    decode = {"cached": {}, "batch": {0: ("decode", 1)}, "start_s": 1.0, "end_s": 2.0}
    lost = Event(1.0, "abort", 1)
    replay(step(**decode, events=[lost], free_blocks=8))
    assert replay.n_tokens == [2, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start_s": -1.0}, "time runs back"),
        ({"batch": {0: ("prefill", 20), 1: ("prefill", 9)}}, "29 tokens in a step"),
        ({"batch": {0: ("prefill", 21)}}, "request 0 computes 21 of 20 missing tokens"),
        ({"batch": {0: ("prefill", 0)}}, "request 0 computes 0 of 20 missing tokens"),
        ({"batch": {0: ("decode", 1)}}, "request 0 decodes with 20 tokens missing"),
        ({"cached": {0: 20, 1: 0}}, "request 0 reuses 20 tokens"),
        ({"cached": {0: 5, 1: 0}}, "request 0 reuses 5 tokens"),
        ({"free_blocks": 6}, "6 blocks are free, tokens leave 7"),
        ({"free_blocks": 8}, "8 blocks are free, tokens leave 7"),
        ({"batch": {0: ("prefill", 3), 1: ("prefill", 8)}, "finished": [0]}, "request 0 ends with 3 tokens"),
    ],
)
def test_a_broken_rule_is_found(replay, changes, message):
    with pytest.raises(ServingError, match=message):
        replay(step(**changes))


def test_too_many_jobs_and_double_admissions_are_found(replay):
    replay(step())
    with pytest.raises(ServingError, match="request 1 is admitted twice"):
        replay(step(start_s=1.0, end_s=2.0, cached={1: 0}, batch={}))
    crowded = Replay(
        Requests(arrival_s=[0, 0], prompt_tokens=[20, 8], output_tokens=[3, 3]),
        Policy(name="x", max_seqs=1),
        Replica(step_time=ConstantStep(), n_blocks=10),
    )
    with pytest.raises(ServingError, match="2 jobs run"):
        crowded(step())
