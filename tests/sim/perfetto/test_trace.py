"""Traces of many kinds of runs are well formed and show what happened."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.system.workload.request import Requests
from sim import engine
from sim.cluster import Change, Link, Member, Pools, simulate_cluster, simulate_pools
from sim.perfetto import Watch, lanes_of, phases_of, trace_events, write_trace
from sim.policies import Chunked, Policy, PrefillFirst, Static
from sim.reference import simulate
from sim.replica import Replica
from sim.routing import LeastRequests
from sim.testing import AffineStep, request_lists
from tests.sim.perfetto.structure import check_structure

STEP = AffineStep(base_s=0.3, per_token_s=0.01)
SMALL = Replica(step_time=STEP, n_blocks=14, block_tokens=4, n_swap_blocks=8, swap_s_per_block=0.01)
POLICY = Policy(name="x", budget_tokens=16, max_seqs=4)
LARGE = Replica(step_time=STEP, n_blocks=200, block_tokens=4)


def watched(requests: Requests, policy: Policy, replica: Replica, **more: Any) -> tuple[Any, Watch]:
    watch = Watch(1, requests.prompt_tokens.tolist(), [replica.n_blocks])
    return simulate(requests, policy, replica, observer=watch.observers[0], **more), watch


def events_of(found: Any, watch: Watch | None, **more: Any) -> list[dict[str, Any]]:
    return trace_events(lanes_of(found, watch), phases_of(found, watch), **more).events


@given(
    request_lists(),
    st.sampled_from(["recompute", "swap"]),
    st.sampled_from([Chunked(), PrefillFirst(), Static()]),
    st.sampled_from([math.inf, 7.0]),
)
@settings(max_examples=60)
def test_traces_of_one_replica_are_well_formed(requests, preemption, composition, until_s) -> None:
    policy = replace(POLICY, preemption=preemption, composition=composition, admission=POLICY.admission)
    found, watch = watched(requests, replace(policy, budget_tokens=64), SMALL, until_s=until_s)
    check_structure(events_of(found, watch))
    check_structure(events_of(found, watch, window=(2.0, 5.0)))
    check_structure(events_of(found, None))


@given(request_lists())
@settings(max_examples=30)
def test_a_trace_of_the_fast_engine_has_the_same_requests_and_steps(requests) -> None:
    policy = replace(POLICY, budget_tokens=64, max_seqs=8)
    slow, _ = watched(requests, policy, LARGE)
    fast = engine.simulate(requests, policy, LARGE)
    ours, theirs = events_of(slow, None), events_of(fast, None)
    check_structure(theirs)

    def told(events: list[dict[str, Any]]) -> list[Any]:
        rows = [(e["ph"], e["name"], round(e["ts"])) for e in events if e["ph"] in "be"]
        return sorted(rows)

    assert told(ours) == told(theirs)
    steps = [sum(e["args"]["steps"] for e in events if e["ph"] == "X") for events in (ours, theirs)]
    assert steps[0] == steps[1] == len(slow.steps.start_s)


def test_a_long_prompt_is_named_in_the_slice_that_it_makes_long() -> None:
    requests = Requests(arrival_s=[0.0, 1.0], prompt_tokens=[8, 100], output_tokens=[20, 1])
    found, watch = watched(requests, replace(POLICY, budget_tokens=128), LARGE)
    [long] = [e for e in events_of(found, watch) if e["ph"] == "X" and e["args"].get("prefill_tokens") == 100]
    assert long["name"] == "prefill of 1"
    assert long["args"]["prompt_tokens_of_request"] == {"1": 100}
    assert long["args"]["decodes"] == 1


def test_runs_of_decodes_are_one_slice_with_their_number() -> None:
    requests = Requests(arrival_s=[0.0], prompt_tokens=[8], output_tokens=[20])
    found, watch = watched(requests, POLICY, LARGE)
    slices = [(e["name"], e["args"]["steps"]) for e in events_of(found, watch) if e["ph"] == "X"]
    assert slices == [("prefill of 0", 1), ("decode", 19)]


def test_a_preempted_request_is_queued_computed_preempted_and_computed_again() -> None:
    requests = Requests(arrival_s=[0.0, 0.0], prompt_tokens=[16, 16], output_tokens=[24, 24])
    found, watch = watched(requests, replace(POLICY, budget_tokens=64), SMALL)
    assert found.n_preemptions.tolist() == [0, 1]
    phases = [phase for phase in phases_of(found, watch) if phase.request == 1]
    assert [phase.name for phase in phases] == ["prefill", "decode", "preempted", "prefill", "decode"]
    assert phases[0].start_s == found.first_scheduled_s[1]
    assert phases[1].start_s == found.first_token_s[1]
    assert phases[-1].end_s == found.finish_s[1]
    assert all(one.end_s == two.start_s for one, two in pairwise(phases))


def test_a_request_that_moves_to_another_replica_leaves_an_arrow() -> None:
    requests = Requests(arrival_s=[0.0, 0.1], prompt_tokens=[10, 10], output_tokens=[9, 9])
    members = [Member(POLICY, LARGE)] * 2
    watch = Watch(2, requests.prompt_tokens.tolist(), [200, 200])
    found = simulate_cluster(
        requests, members, LeastRequests(), changes=[Change(1.5, 0, "fail")], observers=watch.observers
    )
    events = events_of(found, watch)
    check_structure(events)
    assert [(e["ph"], e["pid"]) for e in events if e["ph"] in "sf"] == [("s", 1), ("f", 2)]
    assert {e["args"]["name"] for e in events if e["name"] == "process_name"} == {"replica 0", "replica 1"}


def test_prefill_and_decode_apart_have_transfers_and_arrows_between_them() -> None:
    requests = Requests(arrival_s=[0.0, 0.1], prompt_tokens=[16, 16], output_tokens=[3, 3])
    one = Member(POLICY, LARGE)
    watch = Watch(2, requests.prompt_tokens.tolist(), [200, 200])
    pools = Pools(prefill=[one], decode=[one], link=Link(tokens_per_s=100.0, latency_s=0.05))
    found = simulate_pools(requests, pools, observers=watch.observers)
    lanes = lanes_of(found, watch, names=["prefill 0", "decode 0"])
    events = trace_events(lanes, phases_of(found, watch)).events
    check_structure(events)
    sent = [e["ts"] / 1e6 for e in events if e["name"] == "transfer"]
    assert sent == pytest.approx(sorted([*found.transfer_start_s.tolist(), *found.transfer_end_s.tolist()]))
    assert len([e for e in events if e["ph"] == "s"]) == 2


def test_a_trace_that_is_too_long_ends_early_and_says_when() -> None:
    n = 60
    requests = Requests(arrival_s=[i / 2 for i in range(n)], prompt_tokens=[8] * n, output_tokens=[6] * n)
    found, watch = watched(requests, POLICY, LARGE)
    lanes, phases = lanes_of(found, watch), phases_of(found, watch)
    whole, cut = trace_events(lanes, phases), trace_events(lanes, phases, most_events=200)
    assert math.isinf(whole.end_s)
    assert 0 < cut.end_s < found.end_s
    assert len(whole.events) > 2 * len(cut.events)
    check_structure(cut.events)
    short = trace_events(lanes, phases, most_events=20)
    assert 0 < short.end_s < cut.end_s
    assert 20 < len(short.events) < 60
    check_structure(short.events)


def test_an_empty_window_is_refused() -> None:
    with pytest.raises(ConfigError, match="window: 3 to 2 s"):
        trace_events([], [], window=(3.0, 2.0))


def test_the_file_is_json_and_the_same_every_time_packed_or_not(tmp_path: Path) -> None:
    requests = Requests(arrival_s=[0.0], prompt_tokens=[8], output_tokens=[20])
    trace = trace_events(*(make(*watched(requests, POLICY, LARGE)) for make in (lanes_of, phases_of)))
    for name in ("a.json", "b.json", "a.json.gz", "b.json.gz"):
        write_trace(trace, tmp_path / name, about={"what": "a test"})
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()
    text = gzip.decompress((tmp_path / "a.json.gz").read_bytes())
    assert text == (tmp_path / "a.json").read_bytes()
    read = json.loads(text)
    assert read["traceEvents"] == json.loads(json.dumps(trace.events))
    assert read["otherData"] == {"what": "a test"}
