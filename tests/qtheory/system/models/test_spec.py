"""What follows from the shapes of a model."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.hardware import find_hardware
from qtheory.system.models import ModelSpec, find_model, kv_bytes_each, weight_bytes_each
from qtheory.system.steptime import Roofline, StepLoad

DENSE: dict[str, Any] = {
    "name": "dense",
    "layers": 4,
    "hidden": 64,
    "heads": 8,
    "kv_heads": 2,
    "head_dim": 8,
    "vocab": 1000,
    "intermediate": 256,
}
MOE = DENSE | {"experts": 8, "experts_top_k": 2, "moe_intermediate": 128}
LATENT = DENSE | {"kv_lora_rank": 32, "qk_nope_dim": 8, "qk_rope_dim": 4, "v_head_dim": 8}


@pytest.mark.parametrize(
    ("name", "biases", "weights"),
    [
        # Numbers of weights in the checkpoints on huggingface.co (safetensors index), biases apart.
        ("llama-3.1-8b", 0, 8_030_261_248),
        ("qwen2.5-0.5b", 24 * (896 + 2 * 128), 494_032_768),
        ("qwen2.5-7b", 28 * (3584 + 2 * 512), 7_615_616_512),
        ("mixtral-8x7b", 0, 46_702_792_704),
        ("mistral-7b-v0.1", 0, 7_241_732_096),
    ],
)
def test_weights_of_known_checkpoints_are_counted_to_the_last(name: str, biases: int, weights: int) -> None:
    assert find_model(name).params + biases == weights


def test_a_dense_model_is_counted_by_hand() -> None:
    model = ModelSpec(**DENSE)
    block = 64 * 64 + 2 * 64 * 16 + 64 * 64 + 3 * 64 * 256
    assert model.linear_params == 4 * block
    assert model.params == model.active_params == 4 * block + 2 * 64_000 + 9 * 64
    assert ModelSpec(**DENSE, tie_embeddings=True).params == model.params - 64_000
    assert model.flops_per_token == 2 * 4 * block
    assert model.weight_bytes("fp8") == 4 * block + 2 * (2 * 64_000 + 9 * 64)


def test_a_token_meets_its_share_of_the_experts() -> None:
    model = ModelSpec(**MOE)
    expert = 3 * 64 * 128
    assert model.params - model.active_params == 4 * 6 * expert
    assert model.flops_per_token == 2 * (model.linear_params + 4 * 2 * expert)
    mixed = replace(model, dense_layers=1)
    assert model.params - mixed.params == 8 * expert + 64 * 8 - 3 * 64 * 256


def test_four_bit_formats_of_a_mixture_hold_the_experts_only() -> None:
    model = ModelSpec(**MOE)
    saved = model.weight_bytes("bf16") - model.weight_bytes("fp4")
    assert saved == pytest.approx(4 * 8 * 3 * 64 * 128 * (2 - 4.25 / 8))
    assert model.linear_format("fp4") == "bf16"
    assert ModelSpec(**DENSE).linear_format("fp4") == "fp4"


def test_the_checkpoint_of_gpt_oss_has_its_published_size() -> None:
    # 13.76 GB of safetensors on huggingface.co/openai/gpt-oss-20b.
    assert find_model("gpt-oss-20b").weight_bytes() == pytest.approx(13.76e9, rel=0.01)


def test_distinct_experts_agree_with_drawing_them() -> None:
    model, rng, n_tokens, n_draws = ModelSpec(**MOE), np.random.default_rng(1), 5, 4000
    hit = np.array(
        [
            len(np.unique([rng.choice(8, size=2, replace=False) for _ in range(n_tokens)]))
            for _ in range(n_draws)
        ]
    )
    assert abs(hit.mean() - model.distinct_experts(n_tokens)) < 4 * hit.std() / np.sqrt(n_draws)
    assert model.distinct_experts(0) == 0
    assert model.distinct_experts(1) == 2
    assert model.distinct_experts(10_000) == pytest.approx(8)
    assert ModelSpec(**DENSE).distinct_experts(5) == 0


def test_latent_attention_stores_the_latent_once() -> None:
    assert ModelSpec(**LATENT).kv_bytes_per_token() == 4 * (32 + 4) * 2
    assert find_model("deepseek-v3").kv_bytes_per_token("bf16") == 61 * (512 + 64) * 2
    assert ModelSpec(**LATENT).kv_shards(8) == 1
    assert ModelSpec(**DENSE).kv_shards(8) == 2


def test_projections_of_latent_attention_are_counted_by_hand() -> None:
    mlp, down, up, out = 3 * 64 * 256, 64 * (32 + 4), 32 * 8 * (8 + 8), 8 * 8 * 64
    assert ModelSpec(**LATENT).linear_params == 4 * (64 * 8 * 12 + down + up + out + mlp)
    compressed = ModelSpec(**LATENT, q_lora_rank=16)
    assert compressed.linear_params == 4 * (64 * 16 + 16 * 8 * 12 + down + up + out + mlp)


def test_absorbed_and_expanded_latent_attention_cost_what_their_products_cost() -> None:
    model = ModelSpec(**LATENT)
    assert model.decode_attention_flops == 2 * 8 * ((32 + 4) + 32)  # scores on the latent, values from it
    assert model.prefill_attention_flops == 2 * 8 * ((8 + 4) + 8)
    assert model.expand_flops_per_token == 2 * 32 * 8 * (8 + 8)
    assert ModelSpec(**DENSE).decode_attention_flops == 4 * 64
    assert ModelSpec(**DENSE).expand_flops_per_token == 0


def test_local_layers_keep_their_window_only() -> None:
    model = ModelSpec(**DENSE, local_layers=3, sliding_window=100)
    each = 2 * 2 * 8 * 2  # bytes a token and layer
    assert model.kv_bytes(100) == 100 * 4 * each == 100 * model.kv_bytes_per_token()
    assert model.kv_bytes(1000) == (1000 + 3 * 100) * each
    assert model.kv_bytes(1000, "fp8") == model.kv_bytes(1000) / 2


def test_a_window_longer_than_any_sequence_is_no_window() -> None:
    model = ModelSpec(**DENSE, local_layers=4, sliding_window=4096, max_context=4096)
    assert (model.short_layers, model.full_layers) == (0, 4)
    assert model.kv_bytes(4096) == 4096 * model.kv_bytes_per_token()


def test_layers_without_attention_store_nothing() -> None:
    model = ModelSpec(**DENSE, no_attention_layers=3)
    assert model.kv_bytes_per_token() == ModelSpec(**DENSE).kv_bytes_per_token() / 4


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"layers": 0}, "layers"),
        ({"layers": -1}, "layers"),
        ({"layers": 2.0}, "layers"),
        ({"hidden": 1e30}, "hidden"),
        ({"hidden": 10**30}, "hidden"),
        ({"heads": float("nan")}, "heads"),
        ({"vocab": "32k"}, "vocab"),
        ({"vocab": True}, "vocab"),
        ({"kv_heads": 3}, "kv_heads"),
        ({"mlp_matrices": 4}, "mlp_matrices"),
        ({"tie_embeddings": 1}, "tie_embeddings"),
        ({"weights": "fp9"}, "weights"),
        ({"intermediate": 0}, "intermediate"),
        ({"experts": 8}, "experts_top_k"),
        ({"experts": 8, "experts_top_k": 9, "moe_intermediate": 8}, "experts_top_k"),
        ({"experts": 8, "experts_top_k": 2}, "moe_intermediate"),
        ({"local_layers": 2}, "sliding_window"),
        ({"local_layers": 5, "sliding_window": 10}, "local_layers"),
        ({"dense_layers": 5}, "dense_layers"),
        ({"kv_lora_rank": 32}, "qk_nope_dim"),
        ({"name": 3}, "name"),
    ],
)
def test_a_wrong_value_is_refused_by_name(change: dict[str, object], field: str) -> None:
    with pytest.raises(ConfigError, match=f"^{field}: ") as caught:
        ModelSpec(**DENSE | change)
    assert "\n" not in str(caught.value)


def test_formats_are_known_or_refused() -> None:
    assert (weight_bytes_each("int8"), kv_bytes_each("bf16")) == (1.0, 2.0)
    with pytest.raises(ConfigError, match=r"weights: unknown 'fp7' \(did you mean 'fp8'"):
        weight_bytes_each("fp7")
    with pytest.raises(ConfigError, match="kv_dtype: unknown 'fp4'"):
        kv_bytes_each("fp4")


def test_models_are_plain_values() -> None:
    model = ModelSpec(**DENSE)
    assert pickle.loads(pickle.dumps(model)) == model
    assert len({model, ModelSpec(**DENSE)}) == 1


def test_weights_that_stay_wide_take_two_bytes_and_compute_in_16_bits() -> None:
    plain = ModelSpec(**DENSE | {"weights": "fp8"})
    mixed = replace(plain, wide_params=plain.linear_params // 4)
    assert mixed.weight_bytes() - plain.weight_bytes() == mixed.wide_params
    assert mixed.weight_bytes("bf16") == plain.weight_bytes("bf16")
    card, large = find_hardware("h100"), StepLoad(n_decodes=4096, n_sampled=4096)
    one, all_narrow, all_wide = (
        Roofline(hardware=card, model=model, weights=weights).parts(large)["linear"][0]
        for model, weights in ((mixed, "fp8"), (plain, "fp8"), (mixed, "bf16"))
    )
    assert one == pytest.approx(0.75 * all_narrow + 0.25 * all_wide)
    with pytest.raises(ConfigError, match=r"wide_params: \d+ exceeds the"):
        replace(plain, wide_params=plain.linear_params + 1)
