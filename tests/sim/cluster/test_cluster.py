"""Replicas behind a router: one clock, the rules of one replica, failures, drains, starts, old reports."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, PlanError
from qtheory.system.cluster import ROUTERS, parse_router
from qtheory.system.workload.request import Requests
from sim.cluster import Change, Member, check_changes, simulate_cluster, why_on_one_clock
from sim.engine import simulate
from sim.kvcache import Contents
from sim.policies import Policy
from sim.record import Status
from sim.reference import simulate as simulate_reference
from sim.replay import Replay
from sim.replica import Replica
from sim.routing import CacheAware, LeastRequests, RandomChoice, RoundRobin, make_router
from sim.testing import AffineStep, ConstantStep, alike, request_lists

SETTINGS = settings(max_examples=40, deadline=None, derandomize=True)
COLUMNS = ("sent_s", "status", "first_scheduled_s", "first_token_s", "finish_s", "n_preemptions")
ROUTER = st.sampled_from(sorted(ROUTERS)).map(lambda name: make_router(parse_router(name)))


def member(n_blocks=12, *, step_s=1.0, max_seqs=4, budget=16, **more):
    policy = Policy(name="chunked", budget_tokens=budget, max_seqs=max_seqs)
    return Member(policy, Replica(step_time=ConstantStep(step_s), n_blocks=n_blocks, block_tokens=4, **more))


def asked(arrivals, prompts, outputs):
    return Requests(arrival_s=arrivals, prompt_tokens=prompts, output_tokens=outputs)


def same(left, right):
    for name in COLUMNS:
        assert getattr(left, name).tolist() == pytest.approx(getattr(right, name).tolist(), nan_ok=True), name


def ignore(step):
    """An observer that only forces one clock."""


@SETTINGS
@given(request_lists(), ROUTER, st.integers(0, 3), st.booleans())
def test_a_cluster_of_one_is_one_replica(requests, router, cap, shares):
    one = member(40, prefix_cache=shares)
    contents = alike(requests) if shares else None
    alone = simulate_reference(requests, *one, client_cap=cap, think_s=0.5, contents=contents)
    found = simulate_cluster(
        requests, [one], router, client_cap=cap, think_s=0.5, contents=contents, observers=[ignore]
    )
    same(found.records, alone)
    assert found.records.end_s == alone.end_s
    assert found.records.gaps.n_gaps == alone.gaps.n_gaps


@SETTINGS
@given(request_lists(), st.sampled_from([RoundRobin(), RandomChoice()]), st.floats(0.5, 40))
def test_replicas_one_after_the_other_give_what_one_clock_gives(requests, router, until_s):
    members = [member(30), member(20, step_s=0.7), member(16, max_seqs=2)]
    for stop_s in (math.inf, until_s):
        apart = simulate_cluster(requests, members, router, seed=4, until_s=stop_s)
        together = simulate_cluster(requests, members, router, seed=4, until_s=stop_s, observers=[ignore] * 3)
        same(apart.records, together.records)
        assert apart.replica.tolist() == together.replica.tolist()


@SETTINGS
@given(
    request_lists(),
    ROUTER,
    st.sampled_from([0.0, 0.3, 5.0]),
    st.integers(0, 5),
    st.lists(st.tuples(st.floats(0, 20), st.integers(0, 2), st.sampled_from(["fail", "drain"])), max_size=2),
)
def test_whatever_happens_every_request_ends_once_and_has_all_its_tokens(
    requests, router, delay_s, cap, faults
):
    members = [member(40, prefix_cache=True), member(30), member(25, max_seqs=2)]
    first = {replica: Change(at_s, replica, kind) for at_s, replica, kind in faults}
    again = [Change(change.at_s + 3, change.replica, "start") for change in first.values()]
    found = simulate_cluster(
        requests,
        members,
        router,
        client_cap=cap,
        load_delay_s=delay_s,
        contents=alike(requests),
        changes=[*first.values(), *again],
    )
    records = found.records
    assert set(records.status.tolist()) <= {Status.FINISHED, Status.REJECTED}
    done = records.status == Status.FINISHED
    assert np.all(records.sent_s[done] <= records.first_scheduled_s[done])
    assert np.all(records.first_scheduled_s[done] < records.first_token_s[done])
    assert np.all(records.first_token_s[done] <= records.finish_s[done])
    outputs = requests.output_tokens[done]
    gaps = int(records.gaps.expand()[1].sum())
    assert gaps == int((outputs - 1).sum())
    assert int(records.steps.n_sampled @ records.steps.n_steps) == int(outputs.sum())
    assert np.all(np.diff(records.steps.start_s) >= 0)
    assert np.all((found.replica >= 0) & (found.replica < 3))
    if not first:
        assert not found.n_moves.any()


@SETTINGS
@given(request_lists(), ROUTER)
def test_every_replica_keeps_budget_slots_and_memory(requests, router):
    members = [member(40), member(30, max_seqs=2)]
    replays = [Replay(requests, *one) for one in members]
    found = simulate_cluster(requests, members, router, observers=replays)
    tokens = np.add(replays[0].n_tokens, replays[1].n_tokens)
    done = found.records.status == Status.FINISHED
    assert tokens[done].tolist() == requests.output_tokens[done].tolist()


def test_the_same_seed_gives_the_same_bytes():
    requests = asked(np.arange(60) * 0.3, [8] * 60, [5] * 60)
    router = make_router(parse_router("power_of_two"))
    runs = [simulate_cluster(requests, [member()] * 3, router, seed=9) for _ in range(2)]
    assert runs[0].replica.tobytes() == runs[1].replica.tobytes()
    assert runs[0].records.finish_s.tobytes() == runs[1].records.finish_s.tobytes()


def test_requests_in_flight_are_capped_over_all_replicas():
    requests = asked([0.0] * 12, [4] * 12, [3] * 12)
    found = simulate_cluster(requests, [member(), member()], LeastRequests(), client_cap=3).records
    moments = np.concatenate([found.sent_s, found.finish_s])
    change = np.concatenate([np.ones(12), -np.ones(12)])
    in_flight = np.cumsum(change[np.lexsort((change, moments))])
    assert in_flight.max() == 3


def test_the_stream_of_a_random_router_is_poisson_at_every_replica():
    """With one slot and one-token outputs each replica is M/D/1: mean wait rho / (2 (1 - rho)) of a step."""
    rng, n, load, waits = np.random.default_rng(11), 8_000, 0.6, []
    one = member(8, max_seqs=1, budget=4)
    for seed in range(8):
        requests = asked(np.cumsum(rng.exponential(1 / (3 * load), n)), [4] * n, [1] * n)
        found = simulate_cluster(requests, [one] * 3, RandomChoice(), seed=seed).records
        waits.append(float(np.mean(found.first_scheduled_s - found.sent_s)))
    half = 4 * np.std(waits, ddof=1) / math.sqrt(len(waits))
    assert abs(np.mean(waits) - load / (2 * (1 - load))) < half


def test_looking_at_the_loads_shortens_the_queue():
    rng, waits = np.random.default_rng(3), {}
    requests = asked(np.cumsum(rng.exponential(1 / 2.4, 1_500)), [4] * 1_500, [1] * 1_500)
    for name in ("random", "power_of_two", "least_requests"):
        router = make_router(parse_router(name))
        found = simulate_cluster(requests, [member(8, max_seqs=1)] * 3, router, seed=1).records
        waits[name] = float(np.mean(found.first_scheduled_s - found.sent_s))
    assert waits["least_requests"] < waits["power_of_two"] < waits["random"] / 2


class TestChanges:
    def test_a_failure_sends_requests_to_others_which_compute_what_is_known_again(self):
        requests = asked([0.0], [8], [4])
        found = simulate_cluster(
            requests, [member(), member()], LeastRequests(), changes=[Change(2.5, 0, "fail")]
        )
        # tokens at 1 and 2; the step to 3 is lost; the other replica computes 10 tokens by 3.5
        assert found.records.first_token_s[0] == 1.0
        assert found.records.finish_s[0] == 4.5
        assert found.records.recomputed_tokens[0] == 9
        assert (found.replica[0], found.n_moves[0]) == (1, 1)
        assert sorted(found.records.gaps.expand()[0].tolist()) == [1.0, 1.0, 1.5]

    def test_what_nobody_takes_waits_at_the_router(self):
        requests = asked([0.0, 1.0], [4, 4], [1, 1])
        changes = [Change(0.5, 0, "fail"), Change(3.0, 0, "start")]
        found = simulate_cluster(requests, [member()], RoundRobin(), changes=changes)
        assert found.records.finish_s.tolist() == [4.0, 4.0]
        assert found.records.sent_s.tolist() == [0.0, 1.0]
        assert len(found.parts) == 2

    def test_without_a_start_they_stay_unfinished(self):
        requests = asked([0.0, 1.0], [4, 4], [1, 1])
        found = simulate_cluster(requests, [member()], RoundRobin(), changes=[Change(1.0, 0, "drain")])
        assert found.records.status.tolist() == [Status.FINISHED, Status.UNFINISHED]
        assert found.replica.tolist() == [0, -1]

    def test_a_drained_replica_serves_what_it_has(self):
        requests = asked([0.0, 0.0, 2.0], [4, 4, 4], [6, 6, 1])
        changes = [Change(1.5, 0, "drain")]
        found = simulate_cluster(requests, [member(), member()], RoundRobin(), changes=changes)
        assert found.replica.tolist() == [0, 1, 1]
        assert found.records.finish_s[0] == 6.0

    def test_one_that_starts_later_is_cold_and_one_that_was_drained_is_warm(self):
        requests = asked([0.0, 10.0], [8, 8], [1, 1])
        text = Contents(prompts=[[1] * 8, [1] * 8], outputs=[None, None])
        one = member(prefix_cache=True)
        for kind, cached in (("drain", 4), ("fail", 0)):
            changes = [Change(5.0, 0, kind), Change(6.0, 0, "start")]
            found = simulate_cluster(requests, [one], RoundRobin(), contents=text, changes=changes)
            assert found.records.cached_tokens.tolist() == [0, cached]
        found = simulate_cluster(
            requests, [one, one], LeastRequests(), contents=text, changes=[Change(2.0, 0, "start")]
        )
        assert found.replica.tolist() == [1, 0]

    def test_a_router_forgets_what_a_failed_replica_had(self):
        """The prefix is on replica 1; after its failure both replicas are alike, and the first is taken."""
        requests = asked([0.0, 0.1, 5.0, 12.0], [9, 8, 8, 8], [4, 1, 1, 1])
        text = Contents(prompts=[[2] * 9, [1] * 8, [1] * 8, [1] * 8], outputs=[None] * 4)
        changes = [Change(10.0, 1, "fail"), Change(11.0, 1, "start")]
        found = [
            simulate_cluster(requests, [member()] * 2, CacheAware(), contents=text, changes=some).replica
            for some in ([], changes)
        ]
        assert found[0].tolist() == [0, 1, 1, 1]
        assert found[1].tolist() == [0, 1, 1, 0]

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ([Change(1.0, 2, "fail")], "replica: 2 must be below 2, the number of replicas"),
            ([Change(1.0, 0, "crash")], "change: unknown 'crash'"),
            ([Change(-1.0, 0, "fail")], "at_s: -1.0 must be >= 0"),
            ([Change(1.0, 0, "fail"), Change(2.0, 0, "drain")], "next may come start"),
            ([Change(1.0, 0, "drain"), Change(2.0, 0, "drain")], "next may come fail or start"),
            ([Change(1.0, 0, "start"), Change(2.0, 0, "start")], "next may come fail or drain"),
        ],
    )
    def test_changes_that_make_no_sense_are_named(self, changes, message):
        with pytest.raises(ConfigError) as caught:
            check_changes(changes, 2)
        assert message in str(caught.value)


def test_a_request_too_large_for_its_replica_is_turned_away_there():
    requests = asked([0.0, 0.0], [30, 30], [2, 2])
    found = simulate_cluster(requests, [member(6), member(20)], RoundRobin())
    assert found.records.status.tolist() == [Status.REJECTED, Status.FINISHED]


def test_what_waits_for_ever_is_named():
    policy = Policy(name="x", budget_tokens=16, on_unfit="wait")
    one = Member(policy, Replica(step_time=ConstantStep(1.0), n_blocks=2, block_tokens=4))
    with pytest.raises(PlanError, match="request 0 waits for ever"):
        simulate_cluster(asked([0.0], [30], [1]), [one], LeastRequests())


def test_only_a_blind_router_with_open_arrivals_divides_the_stream():
    assert why_on_one_clock(RoundRobin()) is None
    assert "least_requests" in str(why_on_one_clock(LeastRequests()))
    assert "client_cap" in str(why_on_one_clock(RoundRobin(), client_cap=3))
    assert why_on_one_clock(RoundRobin(), changes=[Change(1.0, 0, "fail")]) == "changes"


def test_replicas_without_a_request_are_part_of_the_cluster():
    requests = asked([0.0], [8], [3])
    found = simulate_cluster(requests, [member(12), member(5)], RoundRobin())
    alone = simulate(requests, *member(12))
    same(found.records, alone)
    assert found.records.n_blocks == 17


def test_members_of_different_kinds_step_at_their_own_pace():
    requests = asked([0.0, 0.0], [8, 8], [3, 3])
    quick = Member(Policy(name="chunked"), Replica(step_time=AffineStep(base_s=0.25), n_blocks=8))
    found = simulate_cluster(requests, [member(), quick], RoundRobin())
    assert found.records.finish_s.tolist() == [3.0, 0.75]


@pytest.mark.parametrize("bad", [{"members": []}, {"until_s": 0}, {"load_delay_s": -1}, {"client_cap": -1}])
def test_bad_arguments_are_refused(bad):
    given_ = {"members": [member()], "router": LeastRequests()} | bad
    with pytest.raises(ConfigError):
        simulate_cluster(asked([0.0], [4], [1]), **given_)
