"""The commands that simulate: what they print, for people and for programs."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from qtheory.system.scenario import Scenario
from validation import answer
from validation.cli.app import main

SLO: dict[str, Any] = {"ttft_slo_s": 2.0, "tpot_slo_s": 0.1}
LIMITS = "--ttft-slo-s 2 --tpot-slo-s 0.1"
SLO_LINES = "ttft_slo_s = 2.0\ntpot_slo_s = 0.1\n"
SMALL = f"--hardware rtx3050 --rate 3 --requests 25 --workload rag {LIMITS}"
TRACE = "arrival_s,prompt_tokens,output_tokens\n" + "".join(
    f"{0.4 * i:.1f},{400 + 50 * i},{10 + i}\n" for i in range(9)
)


def call(words: str, capsys: pytest.CaptureFixture[str], code: int = 0) -> str:
    assert main(words.split()) == code
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out


def result(words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(call(f"{words} --format json", capsys))
    return found


def test_a_run_prints_the_numbers_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    data = result(f"run {SMALL} --scheduler fcfs --seed 5", capsys)
    wanted = answer.run(
        Scenario(
            hardware="rtx3050", rate_rps=3.0, requests=25, workload="rag", scheduler="fcfs", seed=5, **SLO
        )
    ).result.row()
    assert wanted["n_replications"] == 5
    assert data["schema"] == "queueserve/1"
    assert data["provenance"]["seed"] == 5
    assert data["provenance"]["scenario"]["hardware"] == "rtx3050"
    assert data["result"] == [wanted]


def test_flags_and_a_scenario_file_say_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "case.toml"
    path.write_text(
        'hardware = "rtx3050"\nrate_rps = 3\nrequests = 25\nworkload = "rag"\nscheduler = "slo"\n'
    )
    from_flags = call(f"run {SMALL} --scheduler slo --format csv", capsys)
    assert call(f"run --scenario {path} --format csv", capsys) == from_flags
    assert call(f"run --scenario {path} --rate 6 --format csv", capsys) != from_flags


def test_the_same_words_give_the_same_bytes_and_another_seed_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    once = call(f"compare {SMALL}", capsys)
    assert call(f"compare {SMALL}", capsys) == once
    assert call(f"compare {SMALL} --seed 1", capsys) != once


def test_the_heading_says_what_was_assumed(capsys: pytest.CaptureFixture[str]) -> None:
    text = call(f"compare {SMALL} --schedulers fcfs,chunked --memory-frac 0.8 --kv-blocks 5000", capsys)
    lines = {line.split("   ")[0].strip(): line for line in text.split("\n\n")[0].splitlines()}
    assert "rtx3050" in lines["hardware"]
    assert "qwen2.5-0.5b" in lines["model"]
    assert "default: largest dense Qwen2.5" in lines["model"]
    assert "5,000 blocks of 16 tokens (given)" in lines["KV memory"]
    assert "chunked 512" in lines["step"]
    assert "rag, poisson at 3 req/s, 125 requests in all" in lines["load"]
    assert "TTFT <= 2 s, TPOT <= 100 ms" in lines["good request"]
    assert "5 replications of each point (finite runs: no steady state" in lines["runs"]
    assert lines["seed"].split()[1] == "0"
    assert "memory_frac = 0.8" in lines["also"]


def test_a_comparison_has_a_line_a_scheduler_and_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    words = f"compare {SMALL} --schedulers fcfs,chunked,slo"
    text = call(words, capsys)
    rows = {row["scheduler"]: row for row in result(words, capsys)["result"]}
    assert list(rows) == ["fcfs", "chunked", "slo"]
    _, table, finding, apart = text.split("\n\n")
    assert [line.split()[0] for line in table.splitlines()] == ["scheduler", *rows]
    best = min(rows, key=lambda name: rows[name]["p99_tpot_s"])
    worst = max(rows, key=lambda name: rows[name]["p99_tpot_s"])
    factor = rows[worst]["p99_tpot_s"] / rows[best]["p99_tpot_s"]
    assert finding.startswith(f"{best} has the smallest p99 TPOT")
    assert f"{factor:.1f} times less than {worst}" in finding
    assert len(apart.splitlines()) == 4 * 3


def test_a_sweep_has_a_row_a_scheduler_and_rate_and_says_where_goodput_falls(
    capsys: pytest.CaptureFixture[str],
) -> None:
    grid = "--min-rate 1 --max-rate 9 --step 4"
    words = f"sweep --hardware rtx3050 --requests 40 {LIMITS} {grid} --schedulers fcfs,slo"
    data = result(words, capsys)
    assert [(row["scheduler"], row["rate_rps"]) for row in data["result"]] == [
        (name, rate) for name in ("fcfs", "slo") for rate in (1.0, 5.0, 9.0)
    ]
    assert [entry["scheduler"] for entry in data["summary"]] == ["fcfs", "slo"]
    knee = data["summary"][0]["rate_rps"]
    good = [row["rate_rps"] for row in data["result"][:3] if row["goodput_frac"] >= 0.9]
    assert max(good) <= knee <= max(good) + 4
    text = call(words, capsys)
    assert f"fcfs   {knee:.3g} req/s" in text
    assert text.count("\n           5 ") == 1
    assert " ±" in text


def test_rates_can_be_listed_and_the_share_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    words = "sweep --hardware rtx3050 --requests 20 --schedulers chunked --rates 9,1"
    loose = result(f"{words} --goodput-frac 0.01", capsys)
    assert [row["rate_rps"] for row in loose["result"]] == [1.0, 9.0]
    assert loose["summary"][0]["is_last_rate"]
    assert loose["summary"][0]["goodput_frac"] == 0.01


def test_a_sweep_replays_a_trace_at_the_mean_rates_that_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "trace.csv"
    file.write_text(TRACE)
    words = f"{file} --speed 1,2 --scheduler fcfs --hardware rtx3050"
    replayed = result(f"trace {words}", capsys)["result"]
    rates = [row["rate_rps"] for row in replayed]
    grid = ",".join(f"{rate!r}" for rate in rates)
    swept = result(f"sweep --trace {file} --rates {grid} --schedulers fcfs --hardware rtx3050", capsys)
    assert rates[1] == pytest.approx(2 * rates[0])
    assert [row["p99_ttft_s"] for row in swept["result"]] == pytest.approx(
        [row["p99_ttft_s"] for row in replayed]
    )


def test_csv_has_one_line_of_plain_names(capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.DictReader(call(f"compare {SMALL} --format csv", capsys).splitlines()))
    assert {"scheduler", "rate_rps", "goodput_frac", "p99_ttft_s", "p99_tpot_s", "p99_itl_s"} <= set(rows[0])
    assert 0 <= float(rows[1]["goodput_frac"]) <= 1


def test_records_hold_a_line_a_request_of_every_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "records.csv"
    data = result(f"compare {SMALL} --records-out {path}", capsys)
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert len(rows) == 2 * 25 * 5
    assert sorted({row["replication"] for row in rows}) == list("01234")
    for run in data["result"]:
        mine = [row for row in rows if row["scheduler"] == run["scheduler"]]
        means = []
        for index in "01234":
            ttft = [float(row["ttft_s"]) for row in mine if row["ttft_s"] and row["replication"] == index]
            means.append(sum(ttft) / len(ttft))
        assert sum(means) / 5 == pytest.approx(run["mean_ttft_s"])
        assert sum(row["good"] == "True" for row in mine) / len(mine) == pytest.approx(run["goodput_frac"])


def test_what_never_happened_is_an_empty_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "records.csv"
    call(f"run {SMALL} --stop-s 4 --replications 2 --records-out {path}", capsys)
    rows = list(csv.DictReader(path.read_text().splitlines()))
    unfinished = [row for row in rows if row["status"] == "unfinished"]
    assert unfinished
    assert all(row["e2e_s"] == "" for row in unfinished)
    assert "nan" not in path.read_text()


@pytest.mark.parametrize(
    "words",
    [
        f"run {SMALL}",
        f"compare {SMALL}",
        "sweep --hardware rtx3050 --requests 9 --rates 1,4",
        "trace trace.csv --hardware rtx3050",
        "trace trace.csv --hardware rtx3050 --speed 1,9",
    ],
    ids=lambda words: " ".join(words.split()[:5]),
)
@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_every_simulating_command_draws(
    words: str,
    suffix: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trace.csv").write_text(TRACE)
    call(f"{words} --plot figure.{suffix}", capsys)
    assert Path(f"figure.{suffix}").stat().st_size > 5000
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"figure.{suffix}", "trace.csv"]


def test_a_file_is_replaced_only_by_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "out.json"
    words = f"run {SMALL} --format json --out {path}"
    assert call(words, capsys) == ""
    first = path.read_text()
    assert main(words.split()) == 2
    assert "--force" in capsys.readouterr().err
    assert call(f"{words} --seed 3 --force", capsys) == ""
    assert path.read_text() != first


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.csv", TRACE.encode()),
        ("crlf.csv", TRACE.replace("\n", "\r\n").encode()),
        ("mark.csv", b"\xef\xbb\xbf" + TRACE.encode()),
        ("packed.csv.gz", gzip.compress(TRACE.encode(), mtime=0)),
    ],
)
def test_a_trace_is_read_however_it_was_saved(
    name: str, content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(content)
    rows = result(f"trace {tmp_path / name} --speed 2,1 --hardware rtx3050", capsys)["result"]
    assert [(row["speed"], row["n_requests"]) for row in rows] == [(1.0, 9), (2.0, 9)]
    assert rows[0]["rate_rps"] == pytest.approx(8 / 3.2)
    assert rows[1]["rate_rps"] == pytest.approx(2 * 8 / 3.2)


def test_a_timeline_is_part_of_the_json_if_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    row = result(f"run {SMALL} --windows 7", capsys)["result"][0]
    assert len(row["timeline"]) == 7
    assert {"start_s", "mean_waiting", "mean_running", "mean_kv_frac"} <= set(row["timeline"][0])
    assert "timeline" not in result(f"run {SMALL}", capsys)["result"][0]


def test_a_limit_that_nobody_can_meet_makes_nothing_good(capsys: pytest.CaptureFixture[str]) -> None:
    words = "run --hardware rtx3050 --rate 3 --requests 25"
    assert result(f"{words} --ttft-slo-s 1e-9", capsys)["result"][0]["goodput_frac"] == 0
    everything = result(f"{words} --ttft-slo-s inf --tpot-slo-s inf", capsys)
    assert everything["result"][0]["goodput_frac"] == 1
    assert everything["provenance"]["scenario"]["ttft_slo_s"] == "inf"


@pytest.mark.parametrize(
    "words",
    [
        "compare --schedulers fcfs,chunked --workload rag --hardware rtx3050 --duration 10",
        "sweep --schedulers fcfs,chunked,slo --hardware rtx3050 --min-rate 2 --max-rate 18 --step 4",
    ],
)
def test_the_commands_of_the_learning_guide_run_as_written(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = call(words, capsys)
    assert "rtx3050" in text
    assert "chunked" in text.splitlines()[-2]
    assert " ±" in text
