"""When requests are sent: in order, with a cap, and after others."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qtheory.system.workload.request import Requests
from sim import engine, reference
from sim._client import Client
from sim.policies import Policy
from sim.record import Status
from sim.replica import Replica
from sim.testing import ConstantStep

TALK = Requests(
    arrival_s=[0.0, 0.0, 0.0, 1.0],
    prompt_tokens=[10, 20, 30, 10],
    output_tokens=[2, 2, 2, 2],
    after=[-1, 0, 1, -1],
    think_s=[0.0, 5.0, 0.5, 0.0],
)
REPLICA = Replica(step_time=ConstantStep(1.0), n_blocks=64)


def test_a_turn_is_sent_a_thinking_time_after_the_end_of_the_one_before() -> None:
    client = Client(TALK, cap=0, think_s=0.0)
    assert list(client.take(0.0)) == [(0, 0.0)]
    assert client.next_s == 1.0
    client.place_free(0.25, 0)
    assert list(client.take(5.0)) == [(3, 1.0)]
    assert list(client.take(6.0)) == [(1, 5.25)]
    assert client.next_s == math.inf
    assert client.has_more
    client.place_free(7.0, 1)
    assert list(client.take(8.0)) == [(2, 7.5)]
    assert not client.has_more


def test_with_a_cap_a_turn_waits_for_a_place_too() -> None:
    client = Client(TALK, cap=1, think_s=0.0)
    assert list(client.take(9.0)) == [(0, 0.0)]
    client.place_free(2.0, 0)
    assert list(client.take(3.0)) == [(3, 2.0)]
    client.place_free(9.0, 3)
    assert list(client.take(9.0)) == [(1, 9.0)]


@pytest.mark.parametrize("cap", [0, 1, 2])
@pytest.mark.parametrize("prefix_cache", [False, True])
def test_in_a_run_every_turn_waits_for_the_answer(cap: int, prefix_cache: bool) -> None:
    rng = np.random.default_rng(5)
    n, turns = 60, 4
    after = np.where(np.arange(n) % turns, np.arange(n) - 1, -1)
    requests = Requests(
        arrival_s=np.repeat(np.sort(rng.uniform(0, 50, n // turns)), turns),
        prompt_tokens=rng.integers(5, 90, n),
        output_tokens=rng.integers(1, 20, n),
        after=after,
        think_s=rng.exponential(3.0, n),
    )
    replica = Replica(step_time=ConstantStep(0.5), n_blocks=20, prefix_cache=prefix_cache)
    records = engine.simulate(requests, Policy(name="chunked", max_seqs=4), replica, client_cap=cap)
    follows = np.flatnonzero(after >= 0)
    assert np.all(records.status == Status.FINISHED)
    earliest_s = records.finish_s[after[follows]] + requests.think_s[follows]  # type: ignore[index]
    assert np.all(records.sent_s[follows] >= earliest_s - 1e-9)
    if not cap:
        assert records.sent_s[follows] == pytest.approx(earliest_s)


def test_a_turn_follows_one_that_was_turned_away() -> None:
    big = Requests(
        arrival_s=[0.5, 0.5], prompt_tokens=[9999, 5], output_tokens=[1, 1], after=[-1, 0], think_s=[0, 1.5]
    )
    records = reference.simulate(big, Policy(name="chunked"), REPLICA)
    assert records.status.tolist() == [Status.REJECTED, Status.FINISHED]
    assert records.sent_s.tolist() == [0.5, 2.0]


def test_a_clock_that_stops_leaves_turns_that_were_never_sent() -> None:
    records = engine.simulate(TALK, Policy(name="chunked"), REPLICA, until_s=5.0)
    assert records.status.tolist() == [
        Status.FINISHED,
        Status.UNFINISHED,
        Status.UNFINISHED,
        Status.FINISHED,
    ]
    assert np.isnan(records.sent_s[1:3]).all()
