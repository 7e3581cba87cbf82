"""The commands that simulate: ranges found, provenance, speeds, and runs without records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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


def test_json_holds_the_scenario_with_every_default_filled_in(capsys: pytest.CaptureFixture[str]) -> None:
    data = result(f"compare {SMALL} --schedulers fcfs,chunked --replications 2", capsys)
    found = data["provenance"]["resolved"]
    assert found["model"] == "qwen2.5-0.5b"
    assert found["schedulers"] == ["fcfs", "chunked"]
    assert (found["rates_rps"], found["requests"], found["replications"]) == ([3.0], 25, [2])
    assert found["budget_tokens"]["chunked"] == 512
    assert found["kv_blocks"] == data["result"][0]["kv_blocks"]
    assert found["slo"] == {"ttft_s": 2.0, "tpot_s": 0.1, "e2e_s": None}
    assert found["lengths"]["mean_prompt_tokens"] > 0
    assert "NaN" not in json.dumps(found)


def test_rows_of_a_csv_say_what_they_are_of(capsys: pytest.CaptureFixture[str]) -> None:
    header, *rows = call(f"compare {SMALL} --format csv --replications 1", capsys).splitlines()
    assert header.startswith("hardware,model,workload,scheduler,")
    assert all(row.startswith("rtx3050,qwen2.5-0.5b,rag,") for row in rows)


def test_a_sweep_without_rates_finds_where_goodput_falls(capsys: pytest.CaptureFixture[str]) -> None:
    words = "sweep --hardware rtx3050 --requests 120 --schedulers fcfs,chunked --replications 1"
    data = result(words, capsys)
    shares = {
        name: [row["goodput_frac"] for row in data["result"] if row["scheduler"] == name]
        for name in ("fcfs", "chunked")
    }
    assert all(len(each) == 9 and each[0] > 0.8 and each[-1] < 0.6 for each in shares.values())
    assert all(not entry["is_last_rate"] for entry in data["summary"])
    assert result(words, capsys) == data
    assert "Rates chosen by short runs" in call(words, capsys)


def test_a_sweep_takes_the_scheduler_of_its_file_and_says_what_it_does_not_take(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "case.toml"
    path.write_text('hardware = "rtx3050"\nrequests = 20\nscheduler = "slo"\nrate_rps = 3\n')
    for more, names in (("", {"slo"}), ("--schedulers fcfs", {"fcfs"})):
        assert main(f"sweep --scenario {path} --rates 1,4 --format json {more}".split()) == 0
        shown = capsys.readouterr()
        assert {row["scheduler"] for row in json.loads(shown.out)["result"]} == names
        assert shown.err.splitlines() == [
            "sched-sim: note: rate_rps = 3 of the scenario file is not used: a sweep has its own rates"
        ]
    assert main(f"compare --scenario {path}".split()) == 0
    assert "scheduler = 'slo' of the scenario file is not compared" in capsys.readouterr().err


def test_a_trace_at_several_speeds_and_schedulers_says_which_speed_is_too_much(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(TRACE)
    words = f"trace {path} --hardware rtx3050 {LIMITS} --speed 1,99 --schedulers fcfs,chunked"
    data = result(words, capsys)
    assert [(row["scheduler"], row["speed"]) for row in data["result"]] == [
        (name, speed) for name in ("fcfs", "chunked") for speed in (1.0, 99.0)
    ]
    summary = data["summary"][1]
    assert summary["scheduler"] == "chunked"
    assert 1 <= summary["speed"] <= 99
    assert "Largest speed with goodput of at least 90 %" in call(words, capsys)


def test_windows_asked_for_are_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    text = call(f"run {SMALL} --windows 4", capsys)
    header, *rows = text.split("Averages over windows of the first run\n")[1].splitlines()
    assert header.split()[0] == "start"
    assert len(rows) == 4


def test_a_closed_loop_has_no_rate_and_own_lengths_are_called_so(capsys: pytest.CaptureFixture[str]) -> None:
    text = call(
        "run --arrivals closed(concurrency=4) --requests 9 --prompt 100 --output 20 --hardware rtx3050",
        capsys,
    )
    assert "load           own lengths, closed(concurrency=4)" in text
    assert "rate               closed loop" in text
    assert " inf" not in text


def test_a_run_without_records_has_the_same_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    whole = result(f"run {SMALL} --scheduler chunked", capsys)["result"][0]
    lean = result(f"run {SMALL} --scheduler chunked --no-records", capsys)["result"][0]
    assert set(lean) == set(whole)
    for name, value in whole.items():
        if name.endswith(("_low", "_high")) or name == "unreliable":
            continue  # goodput has limits of another kind
        wanted = pytest.approx(value, rel=1e-3) if isinstance(value, float) else value
        assert lean[name] == wanted, name
    assert lean["mean_ttft_s_low"] == pytest.approx(whole["mean_ttft_s_low"], rel=1e-3)
