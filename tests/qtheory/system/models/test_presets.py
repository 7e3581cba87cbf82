"""Models by name and from files of our own fields."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.hardware import find_hardware
from qtheory.system.models import default_model, find_model, model_names
from qtheory.system.models import presets as presets_module
from qtheory.system.specfile import folded

OWN = """
layers = 4
hidden = 64
intermediate = 256
heads = 8
kv_heads = 2
head_dim = 8
vocab = 1000
"""


@pytest.mark.parametrize("name", model_names())
def test_every_preset_has_its_published_number_of_weights(name: str) -> None:
    model, values = find_model(name), presets_module._table()[name]
    assert model.name == name
    assert len(model.source) > 10
    published = values.get("published_params")
    if published is None:
        return
    if "published_note" in values:  # the exceptions: a vision tower, or a rounded name
        assert 0.01 < abs(model.params / published - 1) < 0.1
    else:
        assert model.params == pytest.approx(published, rel=0.01)


def test_most_presets_have_a_published_number() -> None:
    table = presets_module._table()
    assert sum("published_params" in values for values in table.values()) >= 60
    assert sum("published_note" in values for values in table.values()) <= 8


def test_no_spelling_belongs_to_two_models() -> None:
    owner: dict[str, str] = {}
    for name, values in presets_module._table().items():
        for spelling in [name, *values.get("aliases", [])]:
            assert owner.setdefault(folded(spelling), name) == name


@pytest.mark.parametrize(
    ("spelling", "name", "weights"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b", "bf16"),
        ("meta-llama/Meta-Llama-3.1-8B", "llama-3.1-8b", "bf16"),
        ("nvidia/Llama-3.1-8B-Instruct-FP8", "llama-3.1-8b", "fp8"),
        ("Llama-3.3-70B-Instruct", "llama-3.1-70b", "bf16"),
        ("Llama-3.1-405B-Instruct-FP8", "llama-3.1-405b", "fp8"),
        ("RedHatAI/Llama-4-Scout-17B-16E-Instruct-FP8-dynamic", "llama-4-scout", "fp8"),
        ("Qwen/Qwen2.5-0.5B-Instruct", "qwen2.5-0.5b", "bf16"),
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", "qwen2.5-7b", "int4"),
        ("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8", "qwen2.5-7b", "int8"),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b", "bf16"),
        ("nvidia/Qwen3-32B-NVFP4", "qwen3-32b", "fp4"),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek-v3", "fp8"),
        ("openai/gpt-oss-20b", "gpt-oss-20b", "fp4"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b", "bf16"),
        ("mistralai/Mistral-7B-Instruct-v0.1", "mistral-7b-v0.1", "bf16"),
        ("meta-llama/Llama-2-7b-chat-hf", "llama-2-7b", "bf16"),
        ("google/gemma-3-12b-it", "gemma-3-12b", "bf16"),
        ("facebook/opt-13b", "opt-13b", "bf16"),
        ("LLAMA_3.1 8b", "llama-3.1-8b", "bf16"),
    ],
)
def test_published_names_find_their_preset(spelling: str, name: str, weights: str) -> None:
    model = find_model(spelling)
    assert (model.name, model.weights) == (name, weights)


@pytest.mark.parametrize(
    "name", ["", "instruct", "fp8", "x" * 5000, "\x00", "llama-9.9-8b", "no/such/folder"]
)
def test_odd_names_are_refused_in_one_line(name: str) -> None:
    with pytest.raises(ConfigError, match=r"^model: unknown") as caught:
        find_model(name)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'qwen2.5-0.5b'\?"):
        find_model("qwen25-0.5b")


@pytest.mark.parametrize(
    ("card", "model"),
    [("rtx3050", "qwen2.5-0.5b"), ("rtx4090", "qwen2.5-3b"), ("a100", "qwen2.5-7b"), ("b200", "qwen2.5-14b")],
)
def test_the_default_model_takes_a_quarter_of_the_memory(card: str, model: str) -> None:
    hardware = find_hardware(card)
    chosen = default_model(hardware)
    assert chosen.name == model
    assert chosen.weight_bytes("bf16") <= hardware.memory_bytes / 4


def test_the_default_model_is_refused_on_a_card_too_small() -> None:
    with pytest.raises(ConfigError, match="too small for a default"):
        default_model(replace(find_hardware("rtx3050"), memory_bytes=3e9))


@pytest.mark.parametrize("name", ["deepseek-v3", "gpt-oss-20b", "nemotron-3-nano-30b-a3b", "llama-3.1-8b"])
def test_a_preset_written_to_a_file_reads_back(tmp_path: Path, name: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps(asdict(find_model(name))))
    assert find_model(path) == find_model(name)


def test_a_file_without_a_name_is_called_after_itself(tmp_path: Path) -> None:
    path = tmp_path / "little.toml"
    path.write_bytes(b"\xef\xbb\xbf" + OWN.replace("\n", "\r\n").encode())
    assert find_model(str(path)).name == "little"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (OWN + "kv_head = 1", r"kv_head: unknown key \(did you mean 'kv_heads'\?\)"),
        (OWN.replace("vocab = 1000", ""), "vocab: missing"),
        (OWN.replace("1000", "1e30"), "vocab: 1e[+]30 is not a whole number"),
        (OWN.replace("1000", "nan"), "vocab: nan"),
        (OWN.replace("1000", "-5"), "vocab: -5 is outside"),
        (OWN.replace("1000", "0"), "vocab: 0 is outside"),
        (OWN.replace("1000", "[1]"), r"vocab: \[1\] is not a whole number"),
        (OWN.replace("1000", "'many'"), "vocab: 'many' is not a whole number"),
        (OWN[:-6], "not valid TOML"),
    ],
)
def test_a_faulty_file_is_refused_with_file_key_and_value(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "model.toml"
    path.write_text(content)
    with pytest.raises(ConfigError, match=said) as caught:
        find_model(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.shared
def test_presets_agree_with_the_table_of_shapes(shared: Path) -> None:
    with (shared / "data/hardware/models.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(model_names())
    for row in rows:
        model = find_model(row["model"].partition(" (")[0])
        assert (model.layers, model.hidden, model.vocab) == tuple(
            int(row[key]) for key in ("layers", "hidden", "vocab")
        )
        if row["kv_bytes_per_token_bf16"]:
            assert model.kv_bytes_per_token("bf16") == float(row["kv_bytes_per_token_bf16"])
        if row["params_computed_b"]:
            assert model.params / 1e9 == pytest.approx(float(row["params_computed_b"]), rel=0.01)
