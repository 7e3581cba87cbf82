"""What prompts have in common, and turns that follow one another, in a cluster and in pools."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.system.workload.block_hashes import BlockHashes
from qtheory.system.workload.request import Requests
from sim.cluster import Link, Member, Pools, simulate_cluster, simulate_pools
from sim.policies import Policy
from sim.replica import Replica
from sim.routing import CacheAware, KvCost, RoundRobin
from sim.testing import ConstantStep

ONE = Member(
    Policy(name="chunked", budget_tokens=64, max_seqs=8),
    Replica(step_time=ConstantStep(1.0), n_blocks=60, block_tokens=4, prefix_cache=True),
)


def shared(n=12):
    """Prompts of four blocks, the first two of which are one of three beginnings."""
    ids = np.array([[row % 3, 3 + row % 3, 100 + row, 200 + row] for row in range(n)])
    return Requests(
        arrival_s=np.arange(n) * 1.5,
        prompt_tokens=[16] * n,
        output_tokens=[2] * n,
        block_hashes=BlockHashes(ids=ids.ravel(), offsets=np.arange(n + 1) * 4, block_tokens=4),
    )


def test_replicas_one_after_the_other_reuse_what_they_reuse_on_one_clock():
    apart = simulate_cluster(shared(), [ONE, ONE], RoundRobin())
    together = simulate_cluster(shared(), [ONE, ONE], RoundRobin(), observers=[lambda step: None] * 2)
    cached = apart.records.cached_tokens.tolist()
    assert cached == together.records.cached_tokens.tolist() == [0] * 6 + [8] * 6
    assert apart.records.finish_s.tolist() == together.records.finish_s.tolist()


@pytest.mark.parametrize("router", [CacheAware(cache_threshold=0.4), KvCost(overlap_weight=5.0)])
def test_routers_that_know_prefixes_reuse_more_than_turns_do(router):
    found = simulate_cluster(shared(), [ONE, ONE], router).records
    assert (
        found.cached_tokens.sum()
        > simulate_cluster(shared(), [ONE, ONE], RoundRobin()).records.cached_tokens.sum()
    )


def test_a_turn_waits_for_the_one_before_wherever_that_was_served():
    requests = Requests(
        arrival_s=[0.0, 0.0], prompt_tokens=[8, 8], output_tokens=[3, 1], after=[-1, 0], think_s=[0.0, 0.5]
    )
    found = simulate_cluster(requests, [ONE, ONE], RoundRobin())
    assert found.records.sent_s.tolist() == [0.0, 3.5]
    pools = Pools(prefill=[ONE], decode=[ONE], link=Link(tokens_per_s=8.0))
    assert simulate_pools(requests, pools).records.sent_s.tolist() == [0.0, 4.5]
