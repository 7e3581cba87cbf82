"""Replicas of the fast engine behind a router give the records of those of the reference engine."""

from __future__ import annotations

import math
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qtheory.system.cluster import ROUTERS, parse_router
from qtheory.system.workload.request import Requests
from sim.cluster import Change, Member, simulate_cluster, why_reference
from sim.fast.live import Live
from sim.fast.look import steps_by
from sim.fast.paced import Paced
from sim.fast.paced_chunked import PacedChunkedLoop
from sim.policies import Policy, Shedding
from sim.replica import Replica
from sim.routing import LeastTokens, make_router
from sim.testing import AffineStep, ConstantStep

CASES = runpy.run_path(str(Path(__file__).with_name("fast_cases.py")))


def _agree(seeds: range, *, cached: bool) -> None:
    n_served = 0
    for seed in seeds:
        asked = CASES["draw_cluster"](seed, cached=cached)
        if CASES["is_fast"](asked):
            n_served += 1
            assert not CASES["unequal"](asked), f"seed {seed}"
    assert n_served > 0.9 * len(seeds)


@pytest.mark.parametrize("cached", [False, True])
def test_the_engines_agree_on_random_clusters(cached):
    _agree(range(120), cached=cached)


@pytest.mark.slow
@pytest.mark.parametrize("cached", [False, True])
def test_the_engines_agree_on_3000_more_random_clusters(cached):
    _agree(range(20_000, 23_000), cached=cached)


def _busy(name: str) -> dict[str, Any]:
    """Steps end between arrivals, so that loads are read in the middle of steps and of runs of steps."""
    rng, n = np.random.default_rng(5), 200
    requests = Requests(
        arrival_s=np.cumsum(rng.exponential(0.2, n)),
        prompt_tokens=rng.integers(1, 60, n),
        output_tokens=rng.integers(1, 60, n),
    )
    step_time = AffineStep(base_s=0.05, per_token_s=0.002, per_context_token_s=1e-4)
    one = Member(
        Policy(name="chunked", budget_tokens=32, max_seqs=8),
        Replica(step_time=step_time, n_blocks=60, block_tokens=4),
    )
    return {
        "requests": requests,
        "members": [one] * 4,
        "router": make_router(parse_router(name)),
        "changes": (),
    }


@pytest.mark.parametrize("name", sorted(ROUTERS))
def test_the_engines_agree_on_a_busy_cluster(name):
    asked = _busy(name)
    assert CASES["is_fast"](asked)
    assert not CASES["unequal"](asked)


def test_a_fault_in_the_blocks_of_a_run_under_way_shows(monkeypatch):
    monkeypatch.setattr(Live, "_grow", lambda self, run, now_s: self._used_blocks)
    assert CASES["unequal"](_busy("kv_cost"))


def test_blocks_that_are_said_to_be_in_use_and_are_not_show(monkeypatch):
    bound = property(lambda self: self.total_blocks, lambda self, n_blocks: None)
    monkeypatch.setattr(PacedChunkedLoop, "least_blocks", bound, raising=False)
    assert CASES["unequal"](_busy("kv_cost"))


@pytest.mark.parametrize("kind", [Paced, PacedChunkedLoop])
def test_a_fault_in_the_cut_of_a_run_shows(kind, monkeypatch):
    monkeypatch.setattr(kind, "cut", lambda self, at_s: None)
    found = [CASES["unequal"](CASES["draw_cluster"](seed)) for seed in range(20)]
    assert any(found)


def test_a_fault_in_the_count_of_tokens_shows(monkeypatch):
    plain = PacedChunkedLoop.offer

    def offer(self, job, at_s):
        plain(self, job, at_s)
        self.outside_tokens += job.position % 3 * 40

    monkeypatch.setattr(PacedChunkedLoop, "offer", offer)
    found = []
    for seed in range(60):
        asked = CASES["draw_cluster"](seed) | {"router": LeastTokens(), "changes": []}
        if len(asked["members"]) > 1 and CASES["is_fast"](asked):
            found += CASES["unequal"](asked)
    assert found


def test_steps_are_counted_by_their_ends():
    ends = np.cumsum([0.5 + 0.25 * i for i in range(8)])
    for left_s in np.arange(0.0, 12.0, 0.125):
        assert steps_by(left_s, 8, 0.5, 0.25) == int((ends <= left_s).sum())
    assert [steps_by(left_s, 3, 1.0, 0.0) for left_s in (0.5, 1.0, 2.5, 3.0, 9.0)] == [0, 1, 2, 3, 3]


def test_what_needs_the_reference_engine_is_said():
    asked = Requests(arrival_s=[0.0], prompt_tokens=[10], output_tokens=[4])
    replica = Replica(step_time=ConstantStep(1.0), n_blocks=40)
    one = Member(Policy(name="chunked"), replica)
    late = Member(Policy(name="slo", shed=Shedding(action="demote")), replica)
    small = Member(Policy(name="chunked", max_seqs=2), replica)
    fails = [Change(1.0, 0, "fail"), Change(2.0, 0, "start")]
    assert why_reference(asked, [one, one], fails) is None
    assert "demoted" in why_reference(asked, [late, late], fails)
    assert "another kind" in why_reference(asked, [one, small], fails)
    assert "priority_preempt" in why_reference(
        asked, [Member(Policy(name="x", priority_preempt="on_arrival"), replica)]
    )


def test_a_clock_that_is_stopped_keeps_what_has_ended():
    asked = Requests(arrival_s=[0.0, 0.25, 9.0], prompt_tokens=[10, 10, 10], output_tokens=[30, 2, 2])
    one = Member(Policy(name="chunked"), Replica(step_time=ConstantStep(1.0), n_blocks=40))
    found = simulate_cluster(asked, [one, one], LeastTokens(), until_s=5.5).records
    assert found.status.tolist() == [1, 0, 1]
    assert found.sent_s.tolist()[:2] == [0.0, 0.25]
    assert math.isnan(found.sent_s[2])
    assert found.end_s == 5.5
    assert int(found.steps.n_steps @ found.steps.n_decodes) == 5
