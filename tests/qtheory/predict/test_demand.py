"""Moments of the demand against sums by hand."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.predict.demand import demand_of, demand_of_pairs
from qtheory.system.workload import ClosedLoop, Workload
from qtheory.system.workload.profiles import find_profile


def test_mean_context_is_that_of_all_decodes() -> None:
    demand = demand_of_pairs(np.array([100, 10]), np.array([4, 2]))
    contexts = [101, 102, 103, 11]  # of every decode of the two requests
    assert demand.mean_context == pytest.approx(np.mean(contexts))
    assert demand.mean_remaining == pytest.approx((9 + 1) / (2 * 4))


def test_groups_keep_the_means_and_all_probability() -> None:
    demand = demand_of(find_profile("reasoning").workload(n_requests=1))
    steps, probs, prompts = demand.decode_groups
    assert probs.sum() + demand.one_token_prob == pytest.approx(1.0)
    assert steps @ probs == pytest.approx(demand.mean_decode)
    assert prompts @ probs == pytest.approx(demand.mean_prompt, rel=1e-6)
    tokens, weights = demand.prompt_groups
    assert tokens @ weights == pytest.approx(demand.mean_prompt)


def test_a_closed_loop_is_refused() -> None:
    lengths = find_profile("rag").lengths
    workload = Workload(name="loop", lengths=lengths, arrivals=ClosedLoop(concurrency=4), n_requests=10)
    with pytest.raises(ValueError, match="open arrivals"):
        demand_of(workload)
