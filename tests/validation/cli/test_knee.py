"""`sched-sim knee`: one page for all schedulers, answered by what can, and every bad word in one line."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from qtheory.predict import REPLICA_SCHEDULERS
from validation.cli.app import main

CARD = ["knee", "--hardware", "rtx3050", "--workload", "rag"]
QUICK = [*CARD, "--schedulers", "chunked", "--tier", "closed"]
FAIR = [*CARD, "--schedulers", "fair", "--requests", "24", "--precision", "0.5"]
PAGE = (Path(__file__).resolve().parents[3] / "docs" / "knee.md").read_text(encoding="utf-8")
Captured = pytest.CaptureFixture[str]


def ask(line: list[str], capsys: Captured) -> dict[str, Any]:
    assert main([*line, "--format", "json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_without_schedulers_all_of_one_replica_that_there_is_a_model_of_are_asked(capsys: Captured) -> None:
    rows = ask([*CARD, "--tier", "closed"], capsys)["result"]
    assert [row["scheduler"] for row in rows] == list(REPLICA_SCHEDULERS)
    for row in rows:
        assert row["answered_by"] == "theory, closed"
        assert 0 < row["strict_rps"] < row["knee_rps"] < row["limit_rps"]


def test_the_numeric_tier_is_the_default_and_lies_near_the_closed_one(capsys: Captured) -> None:
    numeric = ask([*CARD, "--schedulers", "chunked"], capsys)["result"][0]
    closed = ask(QUICK, capsys)["result"][0]
    assert numeric["answered_by"] == "theory, numeric"
    assert numeric["knee_rps"] == pytest.approx(closed["knee_rps"], rel=0.1)


def test_a_scheduler_without_a_model_is_simulated_and_says_so(capsys: Captured) -> None:
    found = ask(FAIR, capsys)
    (row,) = found["result"]
    assert row["answered_by"] == "simulation"
    assert row["notes"][0] == "simulated: no model of fair"
    assert row["knee_rps_low"] < row["knee_rps"] < row["knee_rps_high"]
    assert row["n_requests"] > 0
    assert all(point["goodput_frac_low"] is not None for point in found["curves"]["fair"])


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("--replicas 2", "several replicas"),
        ("--conversations turns(n=2,think_s=1,message=20)", "conversations"),
        ("--tenants tenant(share=1)+tenant(share=2)", "tenants"),
        ("--prefix-cache --prefix shared(tokens=64)", "a prefix cache"),
        ("--client-cap 50", "a cap at the client"),
        ("--arrivals day(peak_to_mean=1.5)", "a rate that changes with the clock"),
    ],
)
def test_a_load_without_a_model_is_simulated_and_says_why(words: str, reason: str, capsys: Captured) -> None:
    line = [*CARD, "--schedulers", "fcfs", "--requests", "24", "--precision", "0.5", *words.split()]
    (row,) = ask(line, capsys)["result"]
    assert (row["answered_by"], row["notes"][0]) == ("simulation", f"simulated: no model of {reason}")


def test_refine_simulates_from_the_prediction_and_keeps_it_beside(capsys: Captured) -> None:
    line = [*QUICK, "--refine", "--precision", "0.1", "--max-requests", "200000"]
    (row,) = ask(line, capsys)["result"]
    assert row["answered_by"] == "simulation from theory, closed"
    assert row["predicted_rps"] == ask(QUICK, capsys)["result"][0]["knee_rps"]
    assert row["knee_rps_low"] < row["knee_rps"] < row["knee_rps_high"]
    assert abs(row["knee_rps"] / row["predicted_rps"] - 1) < 0.1


def test_the_same_seed_gives_the_same_bytes_for_any_number_of_jobs(capsys: Captured) -> None:
    shown = []
    for jobs in ("1", "2"):
        assert main([*FAIR, "--jobs", jobs, "--format", "json"]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]


def test_explain_shows_formulas_with_numbers_and_what_moves_the_knee(capsys: Captured) -> None:
    said = ask([*QUICK, "--explain"], capsys)["explained"]["chunked"]
    assert "limit: budget binds" in [line["what"] for line in said["formulas"]]
    changes = {move["what"]: move["knee_change_frac"] for move in said["moves"]}
    assert changes["10 % shorter prompts"] > 0.1
    assert main([*QUICK, "--explain"]) == 0
    assert "what moves the knee" in capsys.readouterr().out


def test_explain_of_what_has_no_model_says_so(capsys: Captured) -> None:
    assert "no model of fair" in ask([*FAIR, "--explain"], capsys)["explained"]["fair"]["why_not"]


def test_the_table_shows_the_knee_first_and_what_was_assumed(capsys: Captured) -> None:
    assert main(QUICK) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("hardware")
    assert "largest rate at which 90 % of all requests are good" in shown
    assert "knee (req/s)" in shown
    assert "power point" in shown


def test_no_line_but_a_table_is_wider_than_a_page(capsys: Captured) -> None:
    assert main([*QUICK, "--explain"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 110


def test_csv_has_a_row_a_scheduler(capsys: Captured) -> None:
    assert main([*CARD, "--schedulers", "fcfs,chunked", "--tier", "closed", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["scheduler"] for row in rows] == ["fcfs", "chunked"]
    assert rows[0]["hardware"] == "rtx3050"
    assert float(rows[0]["knee_rps"]) > 0


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_figure_is_drawn(kind: str, tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / f"knee.{kind}"
    assert main([*QUICK, "--plot", str(path)]) == 0
    assert path.stat().st_size > 1000


def test_a_level_that_is_never_reached_is_said_in_words(capsys: Captured) -> None:
    assert main([*QUICK, "--ttft-slo-s", "0.0001"]) == 0
    assert "never" in capsys.readouterr().out


def test_a_trace_is_replayed_faster_and_slower(tmp_path: Path, capsys: Captured) -> None:
    trace = tmp_path / "trace.csv"
    rows = "".join(f"{0.8 * i:.1f},4000,{5 + i % 7}\n" for i in range(24))
    trace.write_text(f"arrival_s,prompt_tokens,output_tokens\n{rows}")
    line = [
        "knee",
        "--hardware",
        "rtx3050",
        "--trace",
        str(trace),
        "--schedulers",
        "chunked",
        "--ttft-slo-s",
        "1",
    ]
    (row,) = ask(line, capsys)["result"]
    assert row["answered_by"] == "simulation"
    assert row["knee_rps_low"] is None
    assert 1.0 < row["knee_rps"] < 4.0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--tier", "numerc"], "did you mean 'numeric'"),
        (["--goodput-frac", "90"], "--goodput-frac: 90 must lie between 0 and 1, such as 0.9"),
        (["--goodput-frac", "0"], "--goodput-frac: 0 must lie between 0 and 1, such as 0.9"),
        (["--goodput-frac", "1"], "--goodput-frac: 1 must lie between 0 and 1, such as 0.9"),
        (["--level", "1"], "must lie between 0 and 1"),
        (["--precision", "0"], "precision: 0"),
        (["--max-requests", "0"], "max"),
        (["--schedulers", "fcsf"], "did you mean 'fcfs'"),
        (["--schedulers", "fcfs,fcfs"], "comes twice"),
        (["--schedulers", "fcfs,"], "empty entry"),
        (["--model", "llama-3.1-8"], "llama-3.1-8b"),
        (["--arrivals", "closed(concurrency=4,think_s=0)"], "has no rate, so no knee"),
        (["--tier", "sim", "--refine"], "--refine"),
        (["--plot", "knee.gif"], "--plot"),
        (["--rate", "3"], "--rate: this command finds the rate itself; leave it out"),
        (["--jobs", "0"], "jobs"),
        (["--out", "no/such/folder/knee.json"], "--out"),
        (["--resume"], "--resume"),
    ],
)
def test_bad_words_are_one_line_and_exit_code_two(words: list[str], said: str, capsys: Captured) -> None:
    assert main([*CARD, *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert said in shown.err


def test_limits_that_are_always_met_have_no_knee_and_say_so(capsys: Captured) -> None:
    line = [*CARD, "--schedulers", "fair", "--requests", "24", "--ttft-slo-s", "inf", "--tpot-slo-s", "inf"]
    assert main(line) == 2
    assert "no rate is too high" in capsys.readouterr().err


def test_the_page_names_flags_that_there_are_and_its_python_runs(capsys: Captured) -> None:
    assert main(["knee", "--help"]) == 0
    shown = capsys.readouterr().out
    for flag in set(re.findall(r"--[a-z][a-z-]+", PAGE)):
        assert flag in shown, flag
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    exec(compile(code, "knee.md", "exec"), {})
    assert float(capsys.readouterr().out.split()[0]) > 0


_H100 = ["--hardware", "h100", "--model", "llama-3.1-8b", "--workload", "chat", "--precision", "0.5"]


@pytest.mark.parametrize("scheduler", ["static", "chunked"])
def test_prompts_that_are_rejected_are_simulated_and_it_says_why(
    scheduler: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--schedulers", scheduler, "--tier", "closed", "--kv-blocks", "60", "--requests", "40"]
    assert main(["knee", *_H100, *words, "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["result"]
    assert row["answered_by"] == "simulation"
    assert any("are rejected" in note for note in row["notes"])


def test_a_limit_below_the_time_of_a_prompt_has_no_knee(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["knee", *_H100, "--schedulers", "slo", "--ttft-slo-s", "0.00001", "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["result"]
    assert row["knee_rps"] is None
    assert not any("numeric at" in note for note in row["notes"])
