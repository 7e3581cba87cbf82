"""KV blocks beside the weights: by hand, and against engines' logs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.hardware import find_hardware
from qtheory.system.memory import kv_blocks, reserved_bytes
from qtheory.system.models import find_model


@pytest.mark.parametrize(
    ("card", "model", "tp", "logged"),
    [
        # Blocks of 16 tokens in vLLM's log, memory_frac 0.9. The first three (H100) from
        # sim-to-real-accuracy-validation @ dcec3fd, the last (RTX 4090) from LLMServingSim @ 5daddb2.
        ("h100", "qwen2.5-7b", 1, 65_368),
        ("h100", "llama-2-7b", 1, 7_463),
        ("h100", "llama-3.1-70b", 4, 30_425),
        ("rtx4090", "llama-3.1-8b", 1, 2_588),
    ],
)
def test_block_counts_of_engine_logs_are_met(card: str, model: str, tp: int, logged: int) -> None:
    assert kv_blocks(find_hardware(card), find_model(model), tp=tp) == pytest.approx(logged, rel=0.02)


def test_blocks_fill_what_weights_and_reserve_leave() -> None:
    card, model = find_hardware("a100"), find_model("llama-3.1-8b")
    free = 80 * 2**30 * 0.8 - model.weight_bytes() - reserved_bytes(model, tp=1, budget_tokens=512)
    assert kv_blocks(card, model, memory_frac=0.8, block_tokens=32, budget_tokens=512) == free // (
        32 * 131072
    )


def test_a_narrow_cache_holds_twice_the_blocks() -> None:
    card, model = find_hardware("a100"), find_model("llama-3.1-8b")
    wide, narrow = kv_blocks(card, model), kv_blocks(card, model, kv_dtype="fp8")
    assert narrow in (2 * wide, 2 * wide + 1)


def test_copies_of_keys_and_values_take_their_room() -> None:
    card, model = find_hardware("h200"), find_model("deepseek-v3")
    latent = kv_blocks(card, model, tp=8)
    free = (
        card.memory_bytes * 0.9 - model.weight_bytes() / 8 - reserved_bytes(model, tp=8, budget_tokens=2048)
    )
    assert latent == free // (16 * 70272)  # every accelerator holds every latent
    qwen = find_model("qwen3-30b-a3b")  # 4 heads of keys: nothing gained beyond 4 but room freed by weights
    four, eight = kv_blocks(card, qwen, tp=4), kv_blocks(card, qwen, tp=8)
    assert four < eight < 1.2 * four


def test_narrow_weights_leave_more_blocks() -> None:
    card, model = find_hardware("a100"), find_model("llama-3.1-8b")
    saved = model.weight_bytes("bf16") - model.weight_bytes("fp8")
    gained = kv_blocks(card, model, weights="fp8") - kv_blocks(card, model)
    assert gained == pytest.approx(saved / (16 * 131072), abs=1)


def test_a_model_that_does_not_fit_says_what_would_help() -> None:
    with pytest.raises(
        ConfigError, match=r"llama-3.1-70b does not fit on 1 x a100.*141.1 GB.*tp=2"
    ) as caught:
        kv_blocks(find_hardware("a100"), find_model("llama-3.1-70b"))
    assert "\n" not in str(caught.value)
    assert kv_blocks(find_hardware("a100"), find_model("llama-3.1-70b"), tp=2) > 0
    with pytest.raises(ConfigError, match="weights=int4"):
        kv_blocks(find_hardware("rtx4090"), find_model("qwen2.5-32b"))
    assert kv_blocks(find_hardware("rtx4090"), find_model("qwen2.5-32b"), weights="int4") > 0


def test_a_model_without_attention_has_no_blocks() -> None:
    model = find_model("llama-3.1-8b")
    with pytest.raises(ConfigError, match="no attention layer"):
        kv_blocks(find_hardware("a100"), replace(model, no_attention_layers=model.layers))


@pytest.mark.parametrize(
    "change",
    [
        {"tp": 0},
        {"memory_frac": 0.0},
        {"memory_frac": 1.1},
        {"memory_frac": float("nan")},
        {"block_tokens": 0},
        {"block_tokens": 16.0},
        {"budget_tokens": -1},
        {"weights": "fp3"},
        {"kv_dtype": "fp4"},
    ],
)
def test_wrong_settings_are_refused_by_name(change: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"^{next(iter(change))}: "):
        kv_blocks(find_hardware("a100"), find_model("llama-3.1-8b"), **change)
