"""Whole prompts that a preempted job has outgrown: the fast engine cuts them as the reference engine does."""

from __future__ import annotations

import runpy
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim import engine
from sim.cluster import Member
from sim.fast.job import FastJob
from sim.fast.shortage import _Walk
from sim.fast.state import State
from sim.routing import LeastTokens
from validation.engines import Case, draw_cached_case, draw_case
from validation.engines.run import check_one

CLUSTERS = runpy.run_path(str(Path(__file__).with_name("cluster") / "fast_cases.py"))
WHOLE = ("fcfs", "fcfs", "fcfs", "orca", "static", "vllm-v0")
Patch = pytest.MonkeyPatch


def _draw(seed: int, *, cached: bool = False) -> Case:
    """A case with long outputs, a budget that holds little more than prompts, and little memory."""
    case = (draw_cached_case if cached else draw_case)(seed, n=16, schedulers=WHOLE)
    rng = np.random.default_rng([seed, 2_033])
    n, asked, policy = len(case.requests), case.requests, case.policy
    outputs = rng.integers(1, 100, n)
    more: dict[str, Any] = {}
    if asked.max_output_tokens is not None:
        more["max_output_tokens"] = outputs + rng.integers(0, 20, n)
    if rng.random() < 0.9:
        more["ttft_slo_s"] = None
    longest = int(np.max(asked.prompt_tokens + more.get("max_output_tokens", outputs)))
    most_prompt = int(np.quantile(asked.prompt_tokens, rng.choice([0.8, 1.0])))
    n_blocks = int(-(-longest // case.replica.block_tokens) * rng.choice([1.0, 1.3, 1.8, 2.5]))
    return replace(
        case,
        requests=replace(asked, output_tokens=outputs, **more),
        policy=replace(policy, budget_tokens=max(policy.max_seqs, most_prompt) + int(rng.integers(0, 8))),
        replica=replace(case.replica, n_blocks=n_blocks + int(rng.integers(2, 12)), max_model_len_tokens=0),
    )


@pytest.fixture
def reached(monkeypatch: Patch) -> Counter[str]:
    """How often something happened that these cases are for."""
    found: Counter[str] = Counter()
    begin, drop, may_be_cut = _Walk.__init__, _Walk._drop, State.may_be_cut

    def walk(self: _Walk, state: State) -> None:
        found["overtaken"] += len(state.overtaken) == 1
        found["several of them"] += len(state.overtaken) > 1
        begin(self, state)

    def dropped(self: _Walk, job: FastJob) -> None:
        found["overtaken and preempted"] += job in self.state.overtaken
        drop(self, job)

    def cut(self: State, job: FastJob) -> bool:
        found["cut"] += (is_cut := may_be_cut(self, job))
        return is_cut

    monkeypatch.setattr(_Walk, "__init__", walk)
    monkeypatch.setattr(_Walk, "_drop", dropped)
    monkeypatch.setattr(State, "may_be_cut", cut)
    return found


def _agree(seeds: Iterable[int], reached: Counter[str], *, cached: bool) -> None:
    for seed in seeds:
        case = _draw(seed, cached=cached)
        assert engine.why_stepwise(case.requests, case.policy, case.replica) is None
        assert check_one(case)[0] == [], f"seed {seed}"
    least = {"cut": 20, "overtaken": 5, "several of them": 3, "overtaken and preempted": 1}
    assert {name for name, n in least.items() if reached[name] >= n} == set(least), reached


def test_the_engines_agree_on_prompts_that_grew_too_long(reached: Counter[str]) -> None:
    _agree(range(60), reached, cached=False)


def test_the_engines_agree_on_them_with_a_prefix_cache(reached: Counter[str]) -> None:
    _agree(range(60), reached, cached=True)


@pytest.mark.slow
@pytest.mark.parametrize("cached", [False, True])
def test_the_engines_agree_on_1000_more_of_them(cached: bool, reached: Counter[str]) -> None:
    _agree(range(10_000, 11_000), reached, cached=cached)


def _in_clusters(seeds: Iterable[int], reached: Counter[str]) -> None:
    for seed in seeds:
        case = _draw(seed, cached=seed % 3 == 0)
        asked = {"requests": case.requests, "contents": case.contents, "until_s": case.until_s}
        members = [Member(case.policy, case.replica)] * 2
        assert CLUSTERS["unequal"]({**asked, "members": members, "router": LeastTokens()}) == [], (
            f"seed {seed}"
        )
    assert reached["overtaken"]


def test_replicas_behind_a_router_agree_on_them(reached: Counter[str]) -> None:
    _in_clusters(range(20), reached)


@pytest.mark.slow
def test_replicas_behind_a_router_agree_on_300_more_of_them(reached: Counter[str]) -> None:
    _in_clusters(range(30_000, 30_300), reached)


# ---- planted faults


def _prompts_last(patch: Patch) -> None:
    """Those that were overtaken run as if they were the youngest."""
    begin = _Walk.__init__

    def init(self: _Walk, state: State) -> None:
        begin(self, state)
        self.running.sort(key=lambda job: job in state.overtaken)

    patch.setattr(_Walk, "__init__", init)


def _cut_whenever_preempted(patch: Patch) -> None:
    patch.setattr(State, "may_be_cut", lambda self, job: self._cuts_outgrown and job.n_outputs > 0)


def _left_behind(patch: Patch) -> None:
    """Who is overtaken waits until nobody else can run."""
    patch.setattr(State, "unfinished", lambda self: self.overtaken[:-1] if self.tail is None else [self.tail])


FAULTS: dict[str, Callable[[Patch], None]] = {
    "never cut": lambda patch: patch.setattr(State, "may_be_cut", lambda self, job: False),
    "cut whenever preempted": _cut_whenever_preempted,
    "prompts last": _prompts_last,
    "left behind": _left_behind,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_planted_there_is_caught(fault: str, monkeypatch: Patch) -> None:
    FAULTS[fault](monkeypatch)

    def differs(seed: int) -> bool:
        try:
            return bool(check_one(_draw(seed))[0])
        except (IndexError, KeyError, ValueError):
            return True

    assert any(differs(seed) for seed in range(60))
