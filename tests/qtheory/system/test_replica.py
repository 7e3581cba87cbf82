"""From the names of a scenario to a replica: what is filled in, what wins, what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.hardware import find_hardware
from qtheory.system.memory import kv_blocks
from qtheory.system.models import find_model
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.scheduler import WHOLE_PROMPT_BUDGET_TOKENS
from qtheory.system.steptime import Linear, StepLoad, Table

STEPS = """table,tokens,mean_context,ms
prefill,0,,10
prefill,1000,,110
decode,0,100,10
decode,0,200,10
decode,1000,100,30
decode,1000,200,50
"""


def test_names_become_presets_and_blocks_follow_from_the_memory() -> None:
    spec = replica_of(Scenario(hardware="h100", model="llama-3.1-8b", tp=2, memory_frac=0.8, block_tokens=32))
    card, model = find_hardware("h100"), find_model("llama-3.1-8b")
    assert (spec.hardware, spec.model, spec.tp, spec.block_tokens) == (card, model, 2, 32)
    assert spec.n_blocks == kv_blocks(card, model, tp=2, memory_frac=0.8, block_tokens=32)
    assert spec.step_time is spec.roofline


@pytest.mark.parametrize(
    ("scenario", "budget"),
    [
        (Scenario(hardware="rtx3050"), 512),
        (Scenario(hardware="a100"), 2048),
        (Scenario(hardware="a100", budget_tokens=96), 96),
        (Scenario(scheduler="fcfs", max_model_len_tokens=5000), 5000),
        (Scenario(scheduler="orca", model="llama-3.1-8b"), WHOLE_PROMPT_BUDGET_TOKENS),
        (Scenario(scheduler="static", budget_tokens=700), 700),
    ],
)
def test_the_budget_is_the_given_one_or_that_of_the_card_or_of_whole_prompts(
    scenario: Scenario, budget: int
) -> None:
    assert replica_of(scenario).budget_tokens == budget


@pytest.mark.parametrize(
    ("changes", "longest"),
    [
        ({"kv_blocks": 10}, 10 * 16 + 1),  # the last token is never stored
        ({"kv_blocks": 10, "block_tokens": 8}, 81),
        ({"kv_blocks": 100_000}, 131_072),
        ({"kv_blocks": 10, "max_model_len_tokens": 5000}, 5000),
    ],
)
def test_the_longest_sequence_is_what_model_and_memory_hold(changes: dict[str, Any], longest: int) -> None:
    assert replica_of(Scenario(model="llama-3.1-8b", **changes)).max_model_len_tokens == longest


def test_efficiencies_and_overheads_of_the_scenario_win_over_the_preset() -> None:
    spec = replica_of(Scenario(hardware="h100", mfu_frac=0.5, overhead_per_step_s=0.0))
    preset = find_hardware("h100")
    assert (spec.hardware.mfu_frac, spec.hardware.overhead_per_step_s) == (0.5, 0.0)
    assert spec.hardware.mbu_frac == preset.mbu_frac
    assert spec.roofline.hardware is spec.hardware


def test_options_of_the_scheduler_are_passed_on_and_the_others_left_to_it() -> None:
    spec = replica_of(Scenario(scheduler="slo", shed="demote", max_seqs=7, watermark_frac=0.05)).scheduler
    assert spec.options() == {"budget_tokens": 2048, "max_seqs": 7, "shed": "demote", "watermark_frac": 0.05}


def test_step_times_can_be_a_line_or_a_table(tmp_path: Path) -> None:
    line = replica_of(Scenario(step_time="linear(base_s=0.01, per_token_s=1e-4)")).step_time
    assert line == Linear(base_s=0.01, per_token_s=1e-4)
    path = tmp_path / "steps.csv"
    path.write_text(STEPS)
    table = replica_of(Scenario(step_time=str(path))).step_time
    assert isinstance(table, Table)
    assert table.step_s(StepLoad(prefill_tokens=500)) == pytest.approx(0.06)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"hardware": "h10"}, r"^hardware: unknown 'h10' \(did you mean 'h100'"),
        ({"model": "llama-9"}, "^model: unknown 'llama-9'"),
        ({"weights": "bf61"}, r"^weights: unknown 'bf61' \(did you mean 'bf16'"),
        ({"kv_dtype": "int2"}, "^kv_dtype: unknown 'int2'"),
        ({"scheduler": "chuncked"}, r"^scheduler: unknown 'chuncked' \(did you mean 'chunked'"),
        ({"watermark_frac": 1.0}, "^watermark_frac: 1 must be below 1"),
        ({"step_time": "rooflin"}, r"^step_time: unknown 'rooflin' \(did you mean 'roofline'"),
        ({"step_time": "linear(0.01)"}, r"^step_time: 'linear\(0.01\)' is not linear\(base_s"),
        ({"step_time": "gamma(mean=1)"}, "^step_time: 'gamma"),
        ({"step_time": "linear(base=1)"}, r"^step_time: linear: unknown 'base' \(did you mean 'base_s'"),
        ({"step_time": "none.csv"}, "^none.csv: cannot be read"),
        ({"step_time": "linear()"}, "^step_time: linear: base_s: missing; a Linear needs it"),
        ({"step_time": "linear(base_s=x)"}, "^step_time: linear: base_s: 'x' is not a number of seconds"),
        ({"step_time": "linear(base_s=[1])"}, r"^step_time: linear: base_s: \(1,\) is not a number"),
        ({"step_time": "linear(base_s=1e999)"}, "^step_time: linear: base_s: inf is outside"),
        ({"step_time": "/dev/null"}, "^/dev/null: is empty; give a CSV table of table, tokens"),
        ({"step_time": "/dev/zero"}, "^/dev/zero: not an ordinary file"),
        ({"step_time": "y" * 300}, "^step_time: unknown 'yyy"),
        ({"step_time": "y" * 300 + ".csv"}, "cannot be read: File name too long"),
        ({"hardware": "/dev/zero"}, "^/dev/zero: not an ordinary file"),
        ({"hardware": "x" * 300 + ".toml"}, "cannot be read: File name too long"),
        ({"hardware": "/"}, "^/: is a folder"),
        ({"model": "/dev/zero"}, "^/dev/zero: not an ordinary file"),
        ({"model": "/"}, "^/config.json: cannot be read: no such file"),
        ({"hardware": "\ud800"}, r"^hardware: unknown '\\ud800'"),
        ({"hardware": "a100", "model": "llama-3.1-70b"}, "^model: llama-3.1-70b does not fit on 1 x a100"),
        ({"model": "llama-3.1-8b", "tp": 3}, "^tp: 3 does not divide the 32 heads"),
    ],
)
def test_names_that_do_not_go_are_refused_in_one_line(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        replica_of(Scenario(**changes))
    assert "\n" not in str(caught.value)


CARD = "memory_bytes = 24e9\nbandwidth_bytes_per_s = 1e12\npeak_flops_per_s = { bf16 = 100e12 }\n"


def test_a_link_is_needed_by_two_accelerators_alone(tmp_path: Path) -> None:
    path = tmp_path / "card.toml"
    path.write_text(CARD)
    alone = Scenario(hardware=str(path), model="llama-3.1-8b")
    assert replica_of(alone).hardware.link_bytes_per_s is None
    with pytest.raises(
        ConfigError, match=r"^link_bytes_per_s: missing of card, and tp=2 needs it; add the rate"
    ):
        replica_of(replace(alone, tp=2))
    path.write_text(CARD + "link_bytes_per_s = 32e9\n")
    assert replica_of(replace(alone, tp=2)).tp == 2


def test_a_file_is_the_source_of_what_it_describes(tmp_path: Path) -> None:
    path = tmp_path / "card.toml"
    path.write_text(CARD)
    assert replica_of(Scenario(hardware=str(path))).hardware.source == f"file {path}"
