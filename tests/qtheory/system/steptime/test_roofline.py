"""Step times from datasheets: identities, limits, and measurements."""

from __future__ import annotations

import csv
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.system.hardware import find_hardware, hardware_names
from qtheory.system.models import ModelSpec, find_model, model_names
from qtheory.system.steptime import Roofline, StepLoad
from tests.qtheory.system.steptime.loads import chunk, decodes, roofline

CASES = [
    ("rtx3050", "qwen2.5-0.5b", 1),
    ("a100", "llama-3.1-8b", 1),
    ("h100", "llama-3.1-70b", 4),
    ("h100", "mixtral-8x7b", 2),
    ("h100", "gpt-oss-20b", 1),
    ("h200", "deepseek-v3", 8),
    ("b200", "deepseek-v3.2", 8),
    ("b200", "qwen3.5-27b", 1),
    ("t4", "gemma-3-1b", 1),
]


LOADS = st.builds(
    lambda n, context, cached, prompt, last: (
        chunk(cached, prompt, with_decodes=decodes(n, context), last=last) if prompt else decodes(n, context)
    ),
    st.integers(1, 256),
    st.integers(1, 20_000),
    st.integers(0, 20_000),
    st.integers(0, 8192),
    st.booleans(),
)


@given(st.sampled_from(CASES), LOADS)
def test_a_step_is_the_sum_of_its_parts(case: tuple[str, str, int], load: StepLoad) -> None:
    step = roofline(*case)
    assert step.step_s(load) == pytest.approx(sum(seconds for seconds, _ in step.parts(load).values()))


@given(st.sampled_from(CASES), LOADS)
def test_no_step_uses_more_than_the_efficiencies_allow(case: tuple[str, str, int], load: StepLoad) -> None:
    step = roofline(*case)
    seconds, card = step.step_s(load), step.hardware
    assert step.flops(load) / seconds <= step.peak_flops_per_s * card.mfu_frac * (1 + 1e-9)
    most = max(card.mbu_frac, card.attention_mbu_frac)
    assert step.bytes(load) / seconds <= step.peak_bytes_per_s * most * (1 + 1e-9)


@given(st.sampled_from(CASES), LOADS, st.sampled_from(StepLoad._fields), st.integers(1, 1000))
def test_more_load_never_takes_less_time(
    case: tuple[str, str, int], load: StepLoad, field: str, more: int
) -> None:
    step = roofline(*case)
    larger: dict[str, Any] = {field: getattr(load, field) + more}
    if field == "prefill_tokens":  # a prompt token brings its own key and value
        larger["prefill_context_tokens"] = load.prefill_context_tokens + more
    assert step.step_s(load._replace(**larger)) >= step.step_s(load)


@given(st.sampled_from(CASES), st.integers(1, 512), st.integers(1, 100_000))
def test_the_decode_line_is_exact_where_there_is_one(
    case: tuple[str, str, int], n: int, context: int
) -> None:
    step = roofline(*case)
    line = step.decode_line(n)
    if line is not None:
        assert step.step_s(decodes(n, context)) == pytest.approx(line[0] + line[1] * n * context, rel=1e-12)


def test_only_windows_and_sparse_selections_bend_the_line() -> None:
    bent = {model for card, model, tp in CASES if roofline(card, model, tp).decode_line(1) is None}
    assert bent == {"gpt-oss-20b", "deepseek-v3.2", "gemma-3-1b"}
    assert (
        roofline("a100", "mistral-7b-v0.1").decode_line(4) is not None
    )  # its window is its longest sequence


def test_a_plain_tuple_is_a_load() -> None:
    step = roofline("a100", "llama-3.1-8b")
    load = chunk(100, 50, with_decodes=decodes(3, 200))
    assert step.step_s(tuple(load)) == step.step_s(load)  # type: ignore[arg-type]


def test_utilisation_of_a_decode_step_of_eight_billion_weights_is_that_by_hand() -> None:
    # 8e9 weights in 2 bytes, 64 decodes of context 1000, 131,072 bytes a token, 12 ms, 1e15 FLOP/s, 3.2 TB/s:
    # 2 * 8e9 * 64 + 4 * 32 * 4096 * 64000 operations, 16e9 + 131072 * 64064 bytes.
    model = ModelSpec(
        name="8e9",
        layers=32,
        hidden=4096,
        heads=32,
        kv_heads=8,
        head_dim=128,
        intermediate=16_000,
        vocab=89_380,
        tie_embeddings=True,
    )
    card = replace(find_hardware("h100"), peak_flops_per_s={"bf16": 1e15}, bandwidth_bytes_per_s=3.2e12)
    step = Roofline(hardware=card, model=model)
    load = decodes(64, 1000)
    assert model.params == 8_000_000_000
    assert step.flops(load) == pytest.approx(1_057_554_432_000, rel=1e-4)  # norms are weights, not work
    assert step.bytes(load) == pytest.approx(24_396_996_608, rel=1e-4)
    assert step.flops(load) / (0.012 * step.peak_flops_per_s) == pytest.approx(0.08813, rel=1e-4)
    assert step.bytes(load) / (0.012 * step.peak_bytes_per_s) == pytest.approx(0.635338, rel=1e-4)


@pytest.mark.parametrize("case", CASES)
def test_work_of_many_steps_is_counted_at_once(case: tuple[str, str, int]) -> None:
    step = roofline(*case)
    loads = [decodes(3, 500), chunk(700, 300), chunk(0, 64, with_decodes=decodes(9, 9000), last=True)]
    columns = StepLoad(*(np.array(column) for column in zip(*loads, strict=True)))  # type: ignore[arg-type]
    for count in (step.flops, step.bytes):
        assert count(columns) == pytest.approx([float(count(load)) for load in loads])


@pytest.mark.parametrize("name", model_names())
def test_every_model_has_step_times(name: str) -> None:
    step = roofline("b200", name)
    assert 1e-4 < step.step_s(decodes(1, 100)) < step.step_s(chunk(0, 4096, last=True)) < 100


@pytest.mark.parametrize("name", hardware_names())
def test_every_card_has_step_times(name: str) -> None:
    step = roofline(name, "llama-3.2-1b")
    assert 1e-3 < step.step_s(decodes(1, 100)) < step.step_s(chunk(0, 4096, last=True)) < 10


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tp": 3}, r"tp: 3 does not divide the 32 heads of llama-3.1-8b; use 1, 2, 4, 8, 16, 32"),
        ({"tp": 0}, "tp: 0 is outside"),
        ({"tp": 2.0}, "tp: 2 is not a whole number"),
        ({"weights": "fp6"}, "weights: unknown 'fp6'"),
        ({"kv_dtype": "int4"}, "kv_dtype: unknown 'int4'"),
    ],
)
def test_impossible_settings_are_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Roofline(hardware=find_hardware("a100"), model=find_model("llama-3.1-8b"), **change)


def test_a_small_card_stalls_its_decodes_on_a_whole_prompt_but_not_on_chunks() -> None:
    # Five decodes beside a prompt of 4,000 tokens, in chunks of a 512-token budget or whole.
    step, beside = roofline("rtx3050", "qwen2.5-0.5b"), decodes(5, 2000)
    starts = range(0, 4000, 507)
    chunks = [step.step_s(chunk(at, min(507, 4000 - at), with_decodes=beside)) for at in starts]
    assert statistics.mean(chunks) < 0.057
    assert step.step_s(chunk(0, 512)) < 0.050
    assert step.step_s(chunk(0, 4000, with_decodes=beside, last=True)) > 6 * statistics.mean(chunks)


def test_an_a100_decodes_eight_billion_weights_in_10_to_14_ms() -> None:
    assert 0.010 < roofline("a100", "llama-3.1-8b").step_s(decodes(1, 1000)) < 0.014
    assert 0.010 < roofline("a100", "llama-3.1-8b").step_s(decodes(16, 1000)) < 0.014


@pytest.mark.shared
def test_datasheet_presets_are_near_passes_composed_from_measured_kernels(shared: Path) -> None:
    errors: dict[str, list[float]] = {}
    with (shared / "data/aiconfigurator/forward_pass_grid.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["fits_hbm"] == "1"]
    for row in rows:
        step = roofline(row["system"], row["model"], int(row["tp"]))
        batch, new, context = (int(row[key]) for key in ("batch", "new_tokens", "context"))
        load = decodes(batch, context + 1) if row["phase"] == "decode" else chunk(0, new, last=True)
        kernels_s = step.step_s(load) - step.hardware.overhead_per_step_s  # the grid has no host time
        errors.setdefault(row["system"], []).append(abs(kernels_s / (float(row["latency_ms"]) / 1e3) - 1))
    assert sum(map(len, errors.values())) > 3000
    for each in errors.values():
        assert statistics.median(each) < 0.15


@pytest.mark.parametrize("case", CASES)
def test_many_steps_at_once_take_what_each_takes(case: tuple[str, str, int]) -> None:
    hardware, model, tp = case
    steps = Roofline(hardware=find_hardware(hardware), model=find_model(model), tp=tp)
    loads = [decodes(n, 900) for n in (1, 40, 200)] + [chunk(800, 512, with_decodes=decodes(8, 9_000))]
    loads += [StepLoad(prefill_tokens=4, prefill_work=10.0, prefill_context_tokens=4)]
    found = steps.steps_s(tuple(np.array(loads, dtype=float).T))
    assert found == pytest.approx([steps.step_s(load) for load in loads], rel=1e-12)
