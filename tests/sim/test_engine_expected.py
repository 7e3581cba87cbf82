"""Prompts before decodes, and room for expected outputs: the fast engine agrees with the reference engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from qtheory.system.workload.request import Requests
from sim import engine, reference
from sim.fast import fill
from sim.fast.joining_line import JoiningLine
from sim.fast.line import KeyedLine
from sim.fast.outlook import Outlook
from sim.policies import Expected, Joining, Policy, PrefillFirstChunked
from sim.replica import Replica
from sim.testing import ConstantStep
from validation.engines import check_engines, differences, draw_cached_case, draw_case
from validation.engines.cases import Case
from validation.engines.run import check_one

NAMES = (
    "sglang",
    "sglang",
    "sglang(cache_order=lpm)",
    "sglang(cache_order=dfs-weight)",
    "cache_aware(composition=prefill_first_chunked)",
    "chunked(admission=expected)",
    "fcfs(admission=expected)",
    "static(admission=expected)",
)


def draw_tight(seed: int, draw: Callable[..., Case] = draw_case) -> Case:
    """Memory for little more than the longest, or outputs that may be longer than is expected of one."""
    case, rng = draw(seed, schedulers=NAMES), np.random.default_rng([seed, 5])
    policy, requests, replica, n = case.policy, case.requests, case.replica, len(case.requests)
    if isinstance(policy.admission, Expected):
        policy = replace(policy, admission=Expected(conservativeness=rng.choice([0.05, 0.3, 1.0, 3.0])))
    output = rng.integers(10, 40, n)
    longest = output + rng.integers(0, 40, n)
    n_tokens = 1.5 * int(np.max(requests.prompt_tokens.clip(max=90) + longest))
    if seed % 2:
        longest = np.maximum(output, rng.choice([50, 4000, 4096, 4110, 4150], n))
        n_tokens = int(rng.choice([5_000, 9_000, 20_000]))
    requests = replace(requests, output_tokens=output, max_output_tokens=longest)
    n_blocks = int(n_tokens) // replica.block_tokens
    return replace(case, policy=policy, requests=requests, replica=replace(replica, n_blocks=n_blocks))


@pytest.mark.parametrize(("prefix_cache", "n_cases"), [(True, 10), (False, 20)])
def test_the_engines_agree_on_random_cases(prefix_cache: bool, n_cases: int) -> None:
    agreement = check_engines(range(n_cases), NAMES, prefix_cache=prefix_cache)
    assert not agreement.unequal
    assert agreement.reached["hits a slot or block gate"] > 0.4 * n_cases


SHOWN_BY = {
    "opens in a run": 26,
    "long outputs": 29,
    "back of the line": 36,
    "retraction": 16,
}  # the case that a fault needs


@pytest.mark.parametrize("draw", [draw_case, draw_cached_case])
def test_they_agree_where_memory_is_short_and_outputs_may_be_long(draw: Callable[..., Case]) -> None:
    reached: Counter[str] = Counter()
    for seed in (*range(12, 20), *SHOWN_BY.values()):
        found, rules = check_one(draw_tight(seed, draw))
        assert not found, seed
        reached.update(rules)
    assert reached["preempts"]
    assert reached["hits a slot or block gate"] > 4


@pytest.mark.slow
def test_they_agree_on_more_of_both() -> None:
    assert not check_engines(range(50_000, 50_060), NAMES, prefix_cache=True).unequal
    assert not any(check_one(draw_tight(seed))[0] for seed in range(100, 120))


def test_the_fast_engine_runs_them() -> None:
    for seed in range(60):
        for case in (draw_case(seed, schedulers=NAMES), draw_cached_case(seed, schedulers=NAMES)):
            reason = engine.why_stepwise(case.requests, case.policy, case.replica)
            assert reason in (None, "in_batch=skip", "ordering"), seed
            assert reason != "ordering" or case.policy.shed.action == "demote"


FAULTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "share": lambda patch: patch.setattr(Outlook, "advance", lambda self, n: None),
    "opens in a run": lambda patch: patch.setattr(Outlook, "closed_steps", lambda self, job, spare, n: n),
    "gate": lambda patch: patch.setattr(Outlook, "lets_in", lambda self, job, spare, n: True),
    "long outputs": lambda patch: patch.setattr("sim.fast.outlook.MOST_TOKENS", 10**9),
    "back of the line": lambda patch: patch.setattr(JoiningLine, "rejoin", KeyedLine.rejoin),
    "retraction": lambda patch: patch.setattr(Outlook, "continued", lambda self, left: self.advance(1)),
    "decodes beside": lambda patch: patch.setattr(fill, "_prefill_first_chunked", fill.chunked),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    FAULTS[fault](monkeypatch)
    assert check_one(draw_tight(SHOWN_BY.get(fault, 0)))[0]


def test_an_unfinished_prompt_takes_blocks_from_decodes_and_they_stand_still() -> None:
    """Decodes that fill the memory: whoever has the fewest outputs gives way, here the prompt itself."""
    requests = Requests(arrival_s=[0.0, 4.0], prompt_tokens=[10, 24], output_tokens=[30, 4])
    common: dict[str, Any] = {"composition": PrefillFirstChunked(), "ordering": Joining(), "budget_tokens": 8}
    policy = Policy(name="x", max_seqs=4, **common)
    replica = Replica(step_time=ConstantStep(1.0), n_blocks=40, block_tokens=1)
    slow, fast = (run(requests, policy, replica) for run in (reference.simulate, engine.simulate))
    assert engine.why_stepwise(requests, policy, replica) is None
    assert not differences(slow, fast)
    assert slow.n_preemptions.sum() > 0
