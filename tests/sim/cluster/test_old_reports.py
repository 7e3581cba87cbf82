"""Loads as they were at the last report."""

from __future__ import annotations

import numpy as np

from qtheory.system.cluster import parse_router
from qtheory.system.workload.request import Requests
from sim.cluster import Member, simulate_cluster
from sim.policies import Policy
from sim.replica import Replica
from sim.routing import LeastRequests, RandomChoice, make_router
from sim.testing import ConstantStep


def member(n_blocks=12, *, step_s=1.0, max_seqs=4):
    policy = Policy(name="chunked", budget_tokens=16, max_seqs=max_seqs)
    return Member(policy, Replica(step_time=ConstantStep(step_s), n_blocks=n_blocks, block_tokens=4))


def asked(arrivals, prompts, outputs):
    return Requests(arrival_s=arrivals, prompt_tokens=prompts, output_tokens=outputs)


class TestReports:
    def test_between_two_reports_all_requests_go_to_the_same_replica(self):
        requests = asked([0.5, 0.6, 0.7, 2.5, 2.6], [4] * 5, [50] * 5)
        found = simulate_cluster(requests, [member(99)] * 2, LeastRequests(), load_delay_s=2.0)
        assert found.replica.tolist() == [0, 0, 0, 1, 1]
        assert simulate_cluster(requests, [member(99)] * 2, LeastRequests()).replica.tolist() == [
            0,
            1,
            0,
            1,
            0,
        ]

    def test_a_report_is_of_its_own_moment(self):
        """At 2 s the first request is still there, at 2.5 s, when the second comes, it is not."""
        requests = asked([0.0, 2.5], [4, 4], [2, 1])
        slow = [member(step_s=1.1), member()]
        assert simulate_cluster(requests, slow, LeastRequests(), load_delay_s=2.0).replica.tolist() == [0, 1]
        assert simulate_cluster(requests, slow, LeastRequests()).replica.tolist() == [0, 0]

    def test_a_report_knows_what_happened_since_the_last_arrival(self):
        """The first request ends at 1 s, before the report of 2 s, and the replicas are alike again."""
        requests = asked([0.0, 2.5], [4, 4], [1, 1])
        found = simulate_cluster(requests, [member()] * 2, LeastRequests(), load_delay_s=2.0)
        assert found.replica.tolist() == [0, 0]

    def test_old_reports_are_worse_than_none(self):
        rng = np.random.default_rng(5)
        requests = asked(np.cumsum(rng.exponential(1 / 3.2, 1_500)), [4] * 1_500, [1] * 1_500)
        waits = []
        for router, delay_s in ((LeastRequests(), 0.0), (RandomChoice(), 0.0), (LeastRequests(), 30.0)):
            found = simulate_cluster(
                requests, [member(8, max_seqs=1)] * 4, router, load_delay_s=delay_s
            ).records
            waits.append(float(np.mean(found.first_scheduled_s - found.sent_s)))
        assert waits[0] < waits[1] < waits[2]


def test_what_was_sent_at_the_same_moment_counts():
    requests = asked([0.0, 0.0, 0.0], [12, 4, 4], [1, 1, 1])
    for name, chosen in (("least_tokens", [0, 1, 1]), ("least_requests", [0, 1, 0]), ("kv_cost", [0, 1, 1])):
        found = simulate_cluster(requests, [member()] * 2, make_router(parse_router(name)))
        assert found.replica.tolist() == chosen, name
