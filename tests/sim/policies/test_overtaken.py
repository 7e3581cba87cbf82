"""The guard against starvation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.system.workload.request import Requests
from sim.kvcache import Contents
from sim.observe import Iteration
from sim.policies import LeastServed, LongestPrefix, Policy, Unskipped
from sim.reference import simulate
from sim.replica import Replica
from sim.testing import ConstantStep, alike, request_lists


def overtaken(requests, policy, replica, contents):
    """How often each job was overtaken before its first admission, counted from what an observer sees."""
    n = [0] * len(requests)
    admitted: set[int] = set()

    def look(step: Iteration) -> None:
        for job in step.cached:
            for other in range(job):
                if other not in admitted and requests.arrival_s[other] <= step.start_s + 1e-9:
                    n[other] += 1
            admitted.add(job)

    simulate(requests, policy, replica, contents=contents, observer=look)
    return n


def warm_stream():
    """A warm prefix, one cold request, and warm ones for as long as it waits."""
    n = 40
    prompts = [
        list(range(64)),
        list(range(900, 964)),
        *([*range(48), *[row] * 16] for row in range(1000, 1038)),
    ]
    requests = Requests(
        arrival_s=[0.0, 1.0, *(1.0 + 0.9 * np.arange(38))], prompt_tokens=[64] * n, output_tokens=[1] * n
    )
    replica = Replica(step_time=ConstantStep(1.0), n_blocks=400, prefix_cache=True)
    return requests, replica, Contents(prompts=prompts, outputs=[None] * n)


def test_a_cold_request_starves_behind_warm_ones_unless_it_is_guarded():
    requests, replica, contents = warm_stream()
    free = Policy(name="lpm", ordering=LongestPrefix(), max_seqs=1, budget_tokens=64)
    guarded = Policy(
        name="guarded", ordering=Unskipped(inner=LongestPrefix(), max_skip=5), max_seqs=1, budget_tokens=64
    )
    assert overtaken(requests, free, replica, contents)[1] > 30
    assert overtaken(requests, guarded, replica, contents)[1] == 5


@given(request_lists(), st.integers(1, 4), st.integers(1, 3))
def test_nobody_is_overtaken_more_often_than_the_guard_allows(requests, max_skip, max_seqs):
    policy = Policy(
        name="guarded",
        ordering=Unskipped(inner=LongestPrefix(sharing_tokens=4), max_skip=max_skip),
        max_seqs=max_seqs,
        budget_tokens=64,
    )
    replica = Replica(step_time=ConstantStep(), n_blocks=10_000, block_tokens=4, prefix_cache=True)
    most = max_skip - 1 + max_seqs  # the pass in which the limit is reached may let others in behind it
    assert max(overtaken(requests, policy, replica, alike(requests))) <= most


def test_the_inner_order_keeps_its_ledger():
    order = Unskipped(inner=LeastServed(), max_skip=2)
    requests = Requests(
        arrival_s=np.zeros(8), prompt_tokens=[5] * 8, output_tokens=[3] * 8, client=[0, 0, 0, 0, 1, 1, 1, 1]
    )
    seen: list[Iteration] = []
    policy = Policy(name="fair", ordering=order, max_seqs=1)
    simulate(requests, policy, Replica(step_time=ConstantStep(), n_blocks=100), observer=seen.append)
    assert [next(iter(step.cached)) for step in seen if step.cached][:4] == [0, 4, 1, 5]
    assert seen[-1].counters == {0: 4 * 11.0, 1: 4 * 11.0}


def test_the_guard_checks_its_limit():
    with pytest.raises(ConfigError, match="max_skip"):
        Unskipped(inner=LongestPrefix(), max_skip=0)
