"""What `sched-sim info` shows of presets and systems."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.steptime import StepLoad
from qtheory.system.workload import find_profile
from validation.cli.app import main


def shown(words: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words.split()) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def data(words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shown(f"{words} --format json", capsys))
    return found


def test_all_presets_are_listed_by_kind(capsys: pytest.CaptureFixture[str]) -> None:
    rows = data("info", capsys)["result"]
    assert {"kind": "hardware", "name": "rtx3050"} in rows
    assert {"kind": "model", "name": "llama-3.1-8b"} in rows
    assert {"kind": "workload", "name": "chat"} in rows
    assert {"kind": "scheduler", "name": "chunked"} in rows
    text = shown("info", capsys)
    assert all(row["name"] in text for row in rows)


@pytest.mark.parametrize(
    ("name", "kind", "entries"),
    [
        ("rtx3050", "hardware", {"bandwidth_bytes_per_s": 168e9, "peak_bf16_flops_per_s": 13.3e12}),
        ("llama-3.1-8b", "model", {"layers": 32, "kv_bytes_per_token": 131072, "params": 8030261248}),
        ("meta-llama/Llama-3.1-8B-Instruct", "model", {"name": "llama-3.1-8b"}),
        ("chat", "workload", {"slo_ttft_s": find_profile("chat").slo.ttft_s, "name": "chat"}),
        ("fcfs", "scheduler", {"composition": "PrefillFirst()"}),
    ],
)
def test_a_preset_is_shown_with_its_values(
    name: str, kind: str, entries: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    (row,) = data(f"info {name}", capsys)["result"]
    assert row["kind"] == kind
    assert entries.items() <= row.items()
    assert all(value is None or isinstance(value, str | int | float) for value in row.values())


@pytest.mark.parametrize("name", ["rtx3050", "llama-3.1-8b", "chat"])
def test_a_preset_says_where_its_values_are_from(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = data(f"info {name}", capsys)["result"]
    sources = [value for key, value in row.items() if key.startswith("source")]
    assert sources
    assert all(len(source) > 5 for source in sources)


def test_a_file_stands_wherever_a_preset_does(bad_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = (bad_folder / "card_unknown.toml").read_text().replace("bandwith = 1", "mfu_frac = 0.5")
    (bad_folder / "mine.toml").write_text(good)
    (row,) = data("info mine.toml", capsys)["result"]
    assert (row["kind"], row["name"], row["mfu_frac"]) == ("hardware", "mine", 0.5)


def test_a_system_shows_memory_and_step_times_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    found = data("info --hardware a100 --model llama-3.1-8b --tp 2 --kv-dtype fp8", capsys)
    spec = replica_of(Scenario(model="llama-3.1-8b", tp=2, kv_dtype="fp8"))
    (row,) = found["result"]
    assert (row["kv_blocks"], row["kv_bytes_per_token"]) == (spec.n_blocks, 65536)
    steps = {entry["step"]: entry["step_s"] for entry in found["steps"]}
    whole = StepLoad(
        prefill_tokens=4000, prefill_work=4000 * 4001 / 2, prefill_context_tokens=4000, n_sampled=1
    )
    eight = StepLoad(n_decodes=8, decode_context_tokens=8000, n_sampled=8)
    assert steps["prompt of 4,000 tokens at once"] == pytest.approx(spec.step_time.step_s(whole))
    assert steps["8 decodes at 1,000 tokens of context"] == pytest.approx(spec.step_time.step_s(eight))
    assert "guide" not in found


def test_the_guides_claims_stand_beside_what_its_card_gives(capsys: pytest.CaptureFixture[str]) -> None:
    claims = data("info --hardware rtx3050", capsys)["guide"]
    assert [claim["guide_s"] for claim in claims] == [0.45, 0.03]
    assert all(claim["step_s"] > 0 for claim in claims)
    assert "450 ms" in shown("info --hardware rtx3050", capsys)


@pytest.mark.parametrize("name", ["rtx3050", "h100", "llama-3.1-8b", "deepseek-v3"])
def test_a_preset_written_as_a_file_describes_the_same(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"{name}.toml"
    assert shown(f"info {name} --format toml --out {path}", capsys) == ""
    assert data(f"info {path}", capsys)["result"] == data(f"info {name}", capsys)["result"]


def test_the_list_says_how_arrivals_and_laws_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    rows = data("info", capsys)["result"]
    assert {"kind": "arrivals", "name": "gamma", "form": "gamma(cv, [client_cap])"} in rows
    text = shown("info", capsys)
    assert "closed(concurrency, [think_s])" in text
    assert "lognormal(mean, cv) or lognormal(mean, scv)" in text


@pytest.mark.parametrize("words", ["info", "info h100", "info --hardware rtx3050 --tp 1"])
def test_presets_say_which_version_showed_them(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    provenance = data(words, capsys)["provenance"]
    assert provenance["version"]
    assert provenance["scenario"] == ({"hardware": "rtx3050"} if "--hardware" in words else {})
