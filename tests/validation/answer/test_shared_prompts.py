"""Answers under loads with structure: hits of the prefix cache, conversations, tenants, block hashes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.scenario import Scenario
from sim.summary import columns
from validation import answer
from validation.answer import Study

ONE = Study(n_replications=1, keep_records=True)
SMALL = Scenario(
    hardware="rtx3050", prompt="constant(300)", output="constant(8)", rate_rps=5.0, requests=60,
    prefix="shared(tokens=256, n=3)", prefix_cache=True,
)  # fmt: skip


def test_after_the_first_of_each_text_its_blocks_are_found() -> None:
    run = answer.run(replace(SMALL, rate_rps=0.5), study=ONE)
    (records,) = run.records
    counts = np.unique(records.cached_tokens, return_counts=True)
    assert [found.tolist() for found in counts] == [[0, 256], [3, 57]]
    assert run.result.cached_tokens == 57 * 256
    assert run.result.cached_frac == pytest.approx(57 * 256 / (60 * 300))
    without = answer.run(replace(SMALL, rate_rps=0.5, prefix_cache=False), study=ONE).result
    assert without.cached_frac is None
    assert without.cached_tokens is None
    assert (without.mean_ttft_s or 0) > 2 * (run.result.mean_ttft_s or 1)


@pytest.mark.parametrize("router", ["round_robin", "cache_aware"])
def test_behind_a_router_each_replica_has_its_own_cache(router: str) -> None:
    run = answer.run(replace(SMALL, replicas=2, router=router, rate_rps=0.5), study=ONE)
    (records,) = run.records
    n_missed = int((records.cached_tokens == 0).sum())
    assert n_missed == (6 if router == "round_robin" else 3)
    assert run.result.cached_tokens == (60 - n_missed) * 256


def test_hits_of_replications_are_added_and_their_share_has_limits() -> None:
    scenario = replace(SMALL, prefix="shared(tokens=256, n=40, zipf=1)")
    result = answer.run(scenario, study=Study(n_replications=3)).result
    assert result.limits["cached_frac"][0] < (result.cached_frac or 0) < result.limits["cached_frac"][1]
    assert (result.cached_tokens or 0) == pytest.approx((result.cached_frac or 0) * 3 * 60 * 300)


def test_the_next_turn_reuses_prompt_and_answer() -> None:
    scenario = Scenario(
        hardware="rtx3050", prompt="constant(160)", output="constant(33)", rate_rps=1.0, requests=40,
        conversations="turns(n=4, think_s=2, message=20)", prefix_cache=True,
    )  # fmt: skip
    run = answer.run(scenario, study=ONE)
    (records,) = run.records
    turn = np.arange(40) % 4
    stored = 160 + 20 * (turn - 1) + 33 * turn - 1  # of the turn before, whose last token is never computed
    assert records.cached_tokens.tolist() == np.where(turn == 0, 0, stored // 16 * 16).tolist()
    assert run.result.n_finished == 40


@pytest.mark.parametrize("router", ["round_robin", "cache_aware"])
def test_behind_a_router_a_turn_waits_for_the_answer_too(router: str) -> None:
    scenario = Scenario(
        hardware="rtx3050", prompt="constant(160)", output="constant(33)", rate_rps=4.0, requests=40,
        conversations="turns(n=4, think_s=2, message=20)", prefix_cache=True, replicas=2, router=router,
    )  # fmt: skip
    run = answer.run(scenario, study=ONE)
    (records,) = run.records
    after = records.requests.after
    assert after is not None
    follows = np.flatnonzero(after >= 0)
    assert records.sent_s[follows] == pytest.approx(records.finish_s[after[follows]] + 2.0)
    assert records.replica is not None
    assert set(records.replica.tolist()) == {0, 1}
    assert run.stepwise is None


def test_a_steady_state_of_conversations_is_counted_by_when_turns_are_sent() -> None:
    scenario = Scenario(
        hardware="a100", prompt="constant(100)", output="constant(8)", rate_rps=20.0, requests=600,
        conversations="turns(n=3, think_s=1)",
    )  # fmt: skip
    result = answer.run(scenario, study=Study(n_replications=2, steady=True)).result
    assert result.throughput_rps == pytest.approx(20.0, rel=0.25)
    assert not result.kind.startswith("overloaded")


def test_tenants_are_judged_by_their_own_limits() -> None:
    tenants = "tenant(share=1, ttft_slo_s=1e-6) + tenant(share=1)"
    scenario = replace(SMALL, tenants=tenants, scheduler="fair", ttft_slo_s=1e6, tpot_slo_s=1e6)
    run = answer.run(scenario, study=ONE)
    (records,) = run.records
    assert records.requests.client is not None
    good = columns(records, run.workload.slo)["good"]
    assert good.tolist() == (records.requests.client == 1).tolist()
    assert run.result.goodput_frac == good.mean()
    assert [row["goodput_frac"] for row in run.result.tenants] == [0.0, 1.0]
    assert sum(row["n_requests"] for row in run.result.tenants) == 60
    whole = answer.run(scenario, study=Study(n_replications=3)).result
    assert sum(row["n_requests"] for row in whole.tenants) == 180
    with pytest.raises(ConfigError, match="no_records: given, but tenants"):
        answer.run(replace(scenario, scheduler="chunked"), study=Study(n_replications=1, lean=True))


def test_a_trace_with_block_hashes_is_replayed_with_what_its_prompts_share(tmp_path: Path) -> None:
    lines = [
        {"timestamp": 0, "input_length": 1300, "output_length": 4, "hash_ids": [1, 2, 3]},
        {"timestamp": 60_000, "input_length": 1200, "output_length": 4, "hash_ids": [1, 2, 4]},
        {"timestamp": 120_000, "input_length": 700, "output_length": 4, "hash_ids": [1, 5]},
        {"timestamp": 180_000, "input_length": 1300, "output_length": 4, "hash_ids": [1, 2, 3]},
    ]
    file = tmp_path / "trace.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    scenario = Scenario(hardware="a100", trace=str(file), scheduler="cache_aware")
    (run,) = answer.replay(scenario, ["cache_aware"], [1.0], study=ONE)
    (records,) = run.records
    assert records.cached_tokens.tolist() == [0, 1024, 512, 1296]
    with pytest.raises(ConfigError, match="prefix: given together with a trace"):
        answer.replay(replace(scenario, prefix="shared(100)"), ["chunked"], [1.0], study=ONE)
