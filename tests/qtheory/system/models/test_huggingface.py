"""Models from the configurations that come with published weights."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.system.models import ModelSpec, find_model, spec_from_config

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
    "torch_dtype": "bfloat16",
}
CONFIGS: dict[str, dict[str, Any]] = {
    "llama-3.1-8b": LLAMA,
    "qwen2.5-0.5b": {
        "model_type": "qwen2",
        "hidden_size": 896,
        "intermediate_size": 4864,
        "num_hidden_layers": 24,
        "num_attention_heads": 14,
        "num_key_value_heads": 2,
        "vocab_size": 151936,
        "tie_word_embeddings": True,
        "max_position_embeddings": 32768,
        "sliding_window": 32768,
        "use_sliding_window": False,
        "max_window_layers": 21,
    },
    "qwen3-30b-a3b": {
        "model_type": "qwen3_moe",
        "hidden_size": 2048,
        "intermediate_size": 6144,
        "moe_intermediate_size": 768,
        "num_hidden_layers": 48,
        "num_attention_heads": 32,
        "num_key_value_heads": 4,
        "head_dim": 128,
        "num_experts": 128,
        "num_experts_per_tok": 8,
        "decoder_sparse_step": 1,
        "mlp_only_layers": [],
        "vocab_size": 151936,
        "tie_word_embeddings": False,
        "max_position_embeddings": 40960,
        "sliding_window": None,
    },
    "mixtral-8x7b": {
        "model_type": "mixtral",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "num_local_experts": 8,
        "num_experts_per_tok": 2,
        "vocab_size": 32000,
        "max_position_embeddings": 32768,
        "sliding_window": None,
    },
    "deepseek-v3": {
        "model_type": "deepseek_v3",
        "hidden_size": 7168,
        "intermediate_size": 18432,
        "moe_intermediate_size": 2048,
        "num_hidden_layers": 61,
        "num_attention_heads": 128,
        "num_key_value_heads": 128,
        "n_routed_experts": 256,
        "n_shared_experts": 1,
        "num_experts_per_tok": 8,
        "first_k_dense_replace": 3,
        "moe_layer_freq": 1,
        "kv_lora_rank": 512,
        "q_lora_rank": 1536,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "vocab_size": 129280,
        "max_position_embeddings": 163840,
        "quantization_config": {"quant_method": "fp8", "fmt": "e4m3"},
    },
    "gpt-oss-20b": {
        "model_type": "gpt_oss",
        "hidden_size": 2880,
        "intermediate_size": 2880,
        "num_hidden_layers": 24,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "num_local_experts": 32,
        "num_experts_per_tok": 4,
        "layer_types": ["sliding_attention", "full_attention"] * 12,
        "sliding_window": 128,
        "vocab_size": 201088,
        "max_position_embeddings": 131072,
        "quantization_config": {"quant_method": "mxfp4"},
    },
    "opt-13b": {
        "model_type": "opt",
        "hidden_size": 5120,
        "ffn_dim": 20480,
        "num_hidden_layers": 40,
        "num_attention_heads": 40,
        "vocab_size": 50272,
        "max_position_embeddings": 2048,
    },
    "gemma-2-9b": {
        "model_type": "gemma2",
        "hidden_size": 3584,
        "intermediate_size": 14336,
        "num_hidden_layers": 42,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 256,
        "sliding_window": 4096,
        "vocab_size": 256000,
        "max_position_embeddings": 8192,
    },
    "gemma-3-4b": {  # nested, and most keys left to the defaults of the library
        "model_type": "gemma3",
        "text_config": {
            "model_type": "gemma3_text",
            "hidden_size": 2560,
            "intermediate_size": 10240,
            "num_hidden_layers": 34,
            "sliding_window": 1024,
            "max_position_embeddings": 131072,
        },
        "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27},
    },
    "mistral-7b-v0.1": {
        "model_type": "mistral",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "sliding_window": 4096,
        "vocab_size": 32000,
        "max_position_embeddings": 4096,
    },
}


def read(keys: dict[str, Any]) -> ModelSpec:
    return spec_from_config(keys, name="mine", where="config.json")


@pytest.mark.parametrize("name", CONFIGS)
def test_a_published_configuration_gives_the_preset(name: str) -> None:
    spec, preset = read(CONFIGS[name]), find_model(name)
    expected = replace(preset, name=spec.name, source=spec.source, caveat=spec.caveat)
    if name == "gemma-3-4b":  # the library's default counts 64 words that the preset does not
        assert spec.vocab == 262208
        expected = replace(expected, vocab=262208)
    assert spec == expected


def test_a_configuration_works_where_a_name_does(tmp_path: Path) -> None:
    folder = tmp_path / "My-Llama"
    folder.mkdir()
    (folder / "config.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(LLAMA, indent=1).encode())
    for given_as in (str(folder), folder, str(folder / "config.json"), folder / "config.json"):
        spec = find_model(given_as)
        assert spec.name == "My-Llama"
        assert spec.params == find_model("llama-3.1-8b").params


def test_defaults_of_the_library_hold_for_heads_and_embeddings() -> None:
    bare = {key: LLAMA[key] for key in LLAMA if key not in ("num_key_value_heads", "tie_word_embeddings")}
    spec = read(bare)
    assert (spec.kv_heads, spec.head_dim, spec.tie_embeddings) == (32, 128, False)
    assert read(CONFIGS["opt-13b"]).tie_embeddings


def test_a_qwen_mixture_has_its_shared_and_dense_layers() -> None:
    keys = CONFIGS["qwen3-30b-a3b"] | {
        "model_type": "qwen2_moe",
        "shared_expert_intermediate_size": 5632,
        "decoder_sparse_step": 2,
        "mlp_only_layers": [1],
    }
    spec = read(keys)
    assert (spec.shared_intermediate, spec.dense_layers, spec.moe_layers) == (5632, 25, 23)


def test_windows_that_are_switched_on_count_from_their_layer() -> None:
    spec = read(CONFIGS["qwen2.5-0.5b"] | {"use_sliding_window": True, "sliding_window": 1000})
    assert (spec.local_layers, spec.sliding_window) == (3, 1000)


@pytest.mark.parametrize(
    ("quantization", "weights"),
    [
        ({"quant_method": "awq", "bits": 4}, "int4"),
        ({"quant_method": "gptq", "bits": 8}, "int8"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "fp4"),
        ({"quantization": {"quant_algo": "FP8"}, "producer": {"name": "modelopt"}}, "fp8"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}},
            },
            "fp8",
        ),
    ],
)
def test_quantized_checkpoints_say_their_format(quantization: dict[str, Any], weights: str) -> None:
    assert read(LLAMA | {"quantization_config": quantization}).weights == weights


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "lama"}, r"model_type: 'lama' is not read \(did you mean 'llama'\?\)"),
        ({"model_type": None}, "model_type: missing"),
        ({"model_type": ["llama"]}, "model_type: "),
        ({"hidden_size": None}, "hidden_size: missing"),
        ({"hidden_size": -1}, "hidden_size: -1 is outside"),
        ({"hidden_size": "4096"}, "hidden_size: '4096' is not a whole number"),
        ({"num_hidden_layers": 1e30}, "num_hidden_layers: 1e[+]30"),
        ({"num_hidden_layers": 10**8}, "layers: 100000000 is outside"),
        ({"vocab_size": float("nan")}, "vocab_size: nan"),
        ({"num_key_value_heads": 5}, "kv_heads: 5 does not divide"),
        ({"num_attention_heads": True}, "num_attention_heads: True"),
        ({"tie_word_embeddings": "no"}, "tie_word_embeddings: 'no' must be true or false"),
        ({"layer_types": ["linear_attention"]}, "layer_types: 'linear_attention'"),
        ({"layer_types": "full"}, "layer_types: 'full' is not a list"),
        ({"text_config": 5}, "text_config: 5 is not a table"),
        ({"quantization_config": {"quant_method": "magic"}}, "quant_method 'magic'"),
        ({"quantization_config": {"quant_method": "awq", "bits": [4]}}, "quant_method 'awq'"),
        ({"quantization_config": "fp8"}, "quantization_config: 'fp8' is not a table"),
        ({"kv_lora_rank": -1}, "kv_lora_rank: -1 is outside"),
        ({"num_experts": "many"}, "num_experts: 'many' is not a whole number"),
        ({"torch_dtype": 5}, "torch_dtype: unknown 5; one of bfloat16"),
        ({"dtype": "float61"}, r"dtype: unknown 'float61' \(did you mean 'float64'"),
        ({"architectures": 5}, "architectures: 5 is not a list of names"),
        ({"architectures": []}, r"architectures: \[\] is not a list of names"),
        ({"architectures": [1]}, r"architectures: \[1\] is not a list of names"),
    ],
)
def test_a_faulty_configuration_is_refused_with_file_and_key(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        read(LLAMA | change)
    assert str(caught.value).startswith("config.json: ")
    assert "\n" not in str(caught.value)


def test_a_key_that_has_no_default_is_asked_for_by_name() -> None:
    for key in ("first_k_dense_replace", "kv_lora_rank", "moe_intermediate_size", "num_experts_per_tok"):
        keys = {name: value for name, value in CONFIGS["deepseek-v3"].items() if name != key}
        with pytest.raises(ConfigError, match=f"{key}: missing; a model of type deepseek_v3 needs it"):
            read(keys)


JSON_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(0, 9), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)
SLOTS = [(name, key) for name, keys in CONFIGS.items() for key in keys]


@given(st.sampled_from(SLOTS), JSON_VALUES)
def test_any_value_under_any_key_gives_a_model_or_one_line(slot: tuple[str, str], value: object) -> None:
    name, key = slot
    try:
        assert isinstance(read(CONFIGS[name] | {key: value}), ModelSpec)
    except ConfigError as error:
        if "\n" in str(error) or not str(error).startswith("config.json: "):
            raise


def test_what_published_configurations_say_beside_the_shapes_is_taken() -> None:
    usual = {"architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16", "kv_lora_rank": None}
    assert read(LLAMA | usual) == read(LLAMA)
    assert read(LLAMA | {"dtype": "torch.float16"}) == read(LLAMA)
