"""Step times against measured passes."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from validation.cli.app import main
from validation.step_times import check_step_times
from validation.step_times.passes import read_passes

DATA = Path(__file__).parents[2] / "data" / "step_times"
SHARED = Path(os.environ.get("SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
HEADER = "model,system,backend,tp,dtype,phase,batch,new_tokens,context,latency_ms\n"
ROW = "Llama-3.1-8B,h100_sxm,vllm,1,bf16,decode,8,8,1024,6.6\n"


def test_shipped_constants_meet_a_sample_of_measured_passes() -> None:
    results = check_step_times(DATA / "forward.csv")
    whole = next(check for check in results.checks if check.name == "all")
    assert results.is_good
    assert whole.median_frac < 0.04
    assert {check.constants for check in results.checks if check.test == "in sample"} == {"preset", ""}


def test_a_table_of_mixed_steps_is_recognised_by_its_columns() -> None:
    passes = read_passes(DATA / "mixed.csv")
    assert {row.kind for row in passes} == {"mixed"}
    chunk = next(row for row in passes if row.load.prefill_tokens == 128 and row.load.n_decodes == 8)
    assert chunk.load.prefill_work == 128 * 2049 / 2  # the middle chunk of a prompt of 2,048
    assert chunk.load.n_sampled == 9


def test_a_model_left_out_is_foretold_from_the_others_only() -> None:
    left_out = [c for c in check_step_times(DATA / "forward.csv").checks if c.test == "model left out"]
    assert [check.name for check in left_out] == ["llama-3.1-8b", "qwen3-32b"]
    assert all(check.constants == "fitted here" for check in left_out)


def test_passes_twice_as_slow_fail_with_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (DATA / "forward.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["latency_ms"] = str(2 * float(row["latency_ms"]))
    slow = tmp_path / "slow.csv"
    with slow.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert main(["validate", "step-times", str(slow)]) == 1
    assert capsys.readouterr().out.splitlines()[-1].endswith("failed")


def test_json_gives_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "step-times", str(DATA / "forward.csv"), "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["summary"]["n_failed"] == 0
    assert 0 < answer["result"][0]["median_frac"] < 0.1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        (HEADER, "no rows"),
        (HEADER.replace("latency_ms", "latency_s") + ROW, "latency_ms: missing"),
        (HEADER + ROW.replace("6.6", "fast"), "line 2: latency_ms: 'fast' is not a number"),
        (HEADER + ROW.replace("6.6", "-1"), "line 2: latency_ms: -1 must be > 0"),
        (HEADER + ROW.replace("h100_sxm", "h1000"), "line 2: hardware: unknown 'h1000'"),
        (HEADER + ROW.replace("decode", "decoding"), "line 2: phase: unknown 'decoding'"),
        (HEADER + ROW.replace(",8,8,", ",8.5,8,"), "line 2: batch: 8.5 is not a whole number"),
        (HEADER + "Llama-3.1-8B,h100_sxm,vllm\n", "line 2: tp: missing"),
    ],
)
def test_bad_tables_get_one_line(tmp_path: Path, text: str, told: str) -> None:
    table = tmp_path / "passes.csv"
    table.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"passes\.csv") as caught:
        check_step_times(table)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data")
@pytest.mark.parametrize("grid", ["forward_pass_grid", "mixed_step_grid"])
def test_all_measured_passes_are_within_what_is_claimed(grid: str) -> None:
    results = check_step_times(SHARED / "aiconfigurator" / f"{grid}.csv")
    assert results.is_good, results.text()
