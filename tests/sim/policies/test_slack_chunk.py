"""Chunks sized by slack: each running request gets its next token in time, prompts get the rest."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system import metrics
from qtheory.system.hardware import find_hardware
from qtheory.system.memory import kv_blocks
from qtheory.system.models import find_model
from qtheory.system.scheduler import SchedulerSpec
from qtheory.system.scheduler_text import parse_scheduler
from qtheory.system.steptime import Roofline
from qtheory.system.workload.request import Requests
from sim import engine, reference
from sim.fast.slack import Slack
from sim.policies import Chunked, Expected, FirstChunk, LeastServed, Policy, make_policy, slack_tokens
from sim.replica import Replica
from sim.statistics import paired_difference
from sim.testing import AffineStep
from validation.engines import check_engines, draw_cached_case, draw_case
from validation.engines.run import check_one

SLACK, LEAST_SLACK = "slo(chunk_size=slack)", "slo(chunk_size=slack, deadline_order=least_slack)"
STEP = AffineStep(base_s=1.0, per_token_s=0.01)


def sized(slack_s: float, *, block_tokens: int = 16, budget_tokens: int = 100) -> int:
    return slack_tokens(
        STEP,
        n_decodes=4,
        context_tokens=99,
        before_tokens=0,
        slack_s=slack_s,
        block_tokens=block_tokens,
        budget_tokens=budget_tokens,
    )


@pytest.mark.parametrize("slack_s", [-3.0, 0.0, 1.4, 1.5, 1.7, 2.1, 2.4, 2.5])
def test_it_is_the_largest_number_of_blocks_that_fits(slack_s: float) -> None:
    fitting = [n for n in (16, 32, 48, 64, 80, 96) if 1.2 * (1.0 + 0.01 * (n + 4)) <= slack_s + 1e-9]
    assert sized(slack_s) == max(fitting, default=16)


def test_one_block_or_what_the_budget_leaves_may_always_be_computed() -> None:
    assert sized(-1.0, budget_tokens=10) == 6
    assert sized(math.inf) == sized(1e9) == 96
    assert sized(2.0, block_tokens=1) == 62  # 1.2 * (1 + 0.01 * 66) = 1.992


def test_a_step_ends_before_the_next_token_is_due() -> None:
    """One decodes when a prompt of 900 comes: 1.2 (1 + 0.01 (n + 1)) <= 3 leaves 149 tokens, 9 blocks."""
    requests = Requests(
        arrival_s=[0.0, 0.5], prompt_tokens=[16, 900], output_tokens=[9, 1], tpot_slo_s=[3.0, 3.0]
    )
    policy = make_policy(SchedulerSpec(name="slo", chunk_size="slack", budget_tokens=2000))
    replica = Replica(step_time=STEP, n_blocks=100)
    for simulate in (reference.simulate, engine.simulate):
        records = simulate(requests, policy, replica)
        assert records.steps.prefill_tokens[:2].tolist() == [16, 144]
        assert records.finish_s[0] <= records.first_token_s[0] + 8 * 3.0


def test_time_that_was_saved_may_be_spent_and_a_limit_of_zero_leaves_a_block() -> None:
    def chunks(tpot_slo_s: float) -> list[int]:
        """Prompt tokens of the steps beside a decode, while a long prompt is there."""
        requests = Requests(
            arrival_s=[0.0, 4.5], prompt_tokens=[16, 400], output_tokens=[40, 1], tpot_slo_s=[tpot_slo_s] * 2
        )
        policy = make_policy(SchedulerSpec(name="slo", chunk_size="slack", budget_tokens=2000))
        steps = engine.simulate(requests, policy, Replica(step_time=STEP, n_blocks=100)).steps
        return [int(n) for n in steps.prefill_tokens if n][1:]

    assert chunks(0.0) == [16] * 25
    assert chunks(math.inf) == [400]
    few = chunks(1.5)
    assert few[0] > few[1]  # what four quick tokens had left over is gone
    assert 16 <= min(few) <= max(few) < 400


@pytest.mark.parametrize(("prefix_cache", "n_cases"), [(True, 24), (False, 36)])
def test_the_engines_agree_on_random_cases(prefix_cache: bool, n_cases: int) -> None:
    agreement = check_engines(range(n_cases), [SLACK, LEAST_SLACK], prefix_cache=prefix_cache)
    assert not agreement.unequal
    assert agreement.reached["cuts prompts"] > 0.5 * n_cases
    assert agreement.reached["preempts"] > 0.1 * n_cases


@pytest.mark.slow
def test_the_engines_agree_on_300_more_of_them() -> None:
    assert not check_engines(range(40_000, 40_300), [SLACK, LEAST_SLACK]).unequal


def test_the_fast_engine_runs_them() -> None:
    for seed in range(60):
        for case in (draw_case(seed, schedulers=[SLACK]), draw_cached_case(seed, schedulers=[SLACK])):
            assert engine.why_stepwise(case.requests, case.policy, case.replica) is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"admission": FirstChunk()}, "chunk_size=slack"),
        ({"admission": Expected()}, "two ledgers of decodes"),
        ({"ordering": LeastServed()}, "two ledgers of decodes"),
    ],
)
def test_what_the_fast_engine_does_not_have_beside_it_goes_step_by_step(
    change: dict[str, Any], reason: str
) -> None:
    case = draw_case(3, schedulers=[SLACK])
    policy = replace(case.policy, **change)
    assert engine.why_stepwise(case.requests, policy, case.replica) == reason


FAULTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "due": lambda patch: patch.setattr(Slack, "due_s", lambda self: math.inf),
    "left": lambda patch: patch.setattr(Slack, "left", lambda self, job: None),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_planted_in_the_slack_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    FAULTS[fault](monkeypatch)
    assert any(check_one(draw_case(seed, schedulers=[SLACK]))[0] for seed in range(60))


def test_whole_prompts_are_not_cut() -> None:
    with pytest.raises(ConfigError, match="chunk_size: 'slack' cuts prompts"):
        make_policy(parse_scheduler("slo(chunk_size=slack, chunked_prefill=false)"))
    with pytest.raises(ConfigError, match="chunk_size"):
        Policy(name="x", composition=Chunked(whole_prompts=True), chunk_size="slack")


def test_tpot_is_kept_while_ttft_falls_under_load() -> None:
    """Near capacity, on the same requests: a fixed budget that keeps a limit of 50 ms per token makes first
    tokens wait longer, and one that makes them wait less breaks the limit."""
    hardware, model = find_hardware("a100"), find_model("llama-3.1-8b")
    step_time, n_blocks = Roofline(hardware=hardware, model=model), kv_blocks(hardware, model)
    replica, limit_s = Replica(step_time=step_time, n_blocks=n_blocks), 0.05

    def seen(seed: int, text: str) -> tuple[float, float]:
        """Mean TTFT and p99 TPOT."""
        rng, n = np.random.default_rng(seed), 800
        requests = Requests(
            arrival_s=np.cumsum(rng.exponential(1 / 9.0, n)),
            prompt_tokens=rng.lognormal(np.log(1000) - 0.32, 0.8, n).clip(1, 16_000).astype(int),
            output_tokens=rng.lognormal(np.log(200) - 0.245, 0.7, n).clip(2, 4_000).astype(int),
            tpot_slo_s=np.full(n, limit_s),
        )
        records = engine.simulate(requests, make_policy(parse_scheduler(text)), replica)
        tpot_s = metrics.tpot_s(records.first_token_s, records.finish_s, requests.output_tokens)
        ttft_s = records.first_token_s - records.sent_s
        return float(np.mean(ttft_s)), float(np.percentile(tpot_s, 99))

    slack, small, large = (
        np.array([seen(seed, f"slo({options}, max_seqs=256)") for seed in range(6)])
        for options in ("budget_tokens=2048, chunk_size=slack", "budget_tokens=512", "budget_tokens=2048")
    )
    assert slack[:, 1].max() <= limit_s
    assert small[:, 1].max() <= limit_s
    assert paired_difference(slack[:, 0], small[:, 0]).verdict == "a lower"
    assert paired_difference(slack[:, 1], large[:, 1]).verdict == "a lower"
    assert large[:, 1].min() > limit_s
