"""Traces and stalls on the command line."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.sim.perfetto.structure import check_structure
from validation.cli.app import main

SMALL = [
    "--hardware",
    "rtx3050",
    "--workload",
    "rag",
    "--requests",
    "20",
    "--replications",
    "2",
    "--jobs",
    "1",
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*words: str) -> int:
    return main(["run", *SMALL, "-q", *words])


def events(name: str) -> list[dict[str, Any]]:
    data = Path(name).read_bytes()
    read = json.loads(gzip.decompress(data) if name.endswith(".gz") else data)
    return list(read["traceEvents"])


def test_a_trace_has_every_request_and_the_answer_stays_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--format", "json") == 0
    plain = json.loads(capsys.readouterr().out)
    assert run("--format", "json", "--trace-out", "a.json.gz") == 0
    traced = json.loads(capsys.readouterr().out)
    assert traced["result"] == plain["result"]
    found = events("a.json.gz")
    check_structure(found)
    assert {e["name"] for e in found if e["ph"] == "b" and "request" in e["name"]} == {
        f"request {row}" for row in range(20)
    }


def test_moments_in_the_trace_are_those_of_the_records() -> None:
    assert run("--trace-out", "a.json", "--records-out", "r.csv") == 0
    with Path("r.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["replication"] == "0"]
    first = [float(row["arrival_s"]) + float(row["ttft_s"]) for row in rows]
    ends = {
        int(e["id2"]["local"], 16): e["ts"] / 1e6
        for e in reversed(events("a.json"))
        if e["ph"] == "e" and e["name"] == "prefill"
    }
    assert [ends[row] for row in range(20)] == pytest.approx(first, abs=1e-6)


def test_a_window_shows_a_part() -> None:
    assert run("--trace-out", "a.json", "--trace-window", "1,2.5") == 0
    found = events("a.json")
    check_structure(found)
    timed = [e for e in found if e["ph"] != "M"]
    assert min(e["ts"] for e in timed) >= 1e6
    assert max(e["ts"] + e.get("dur", 0) for e in timed) <= 2.5e6


def test_replicas_are_processes() -> None:
    assert run("--trace-out", "a.json", "--replicas", "3", "--rate", "6") == 0
    found = events("a.json")
    check_structure(found)
    assert [e["args"]["name"] for e in found if e["name"] == "process_name"] == [
        "replica 0",
        "replica 1",
        "replica 2",
    ]


def test_stalls_are_told_as_text_and_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--scheduler", "fcfs", "--stalls", "2"]
    assert run(*words) == 0
    text = capsys.readouterr().out
    assert "Longest gaps between tokens in the first replication" in text
    assert run(*words, "--format", "json") == 0
    stalls = json.loads(capsys.readouterr().out)["stalls"]
    assert len(stalls) == 2
    assert stalls[0]["gap_s"] >= stalls[1]["gap_s"]
    assert stalls[0]["because"].startswith("prompts of request ")
    assert all(stall["because"] in text for stall in stalls)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--trace-out", "a.txt"], "--trace-out: a.txt: must end in .json or .json.gz"),
        (["--trace-out", "lost/a.json"], "--trace-out: lost/a.json: the folder lost does not exist"),
        (["--trace-out", "a.json", "--out", "a.json"], "is the file of"),
        (["--trace-out", "a.json", "--trace-window", "5"], "--trace-window: '5' is not START,END"),
        (["--trace-out", "a.json", "--trace-window", "5,2"], "--trace-window: '5,2' is not START,END"),
        (["--trace-out", "a.json", "--trace-window", "nan,2"], "--trace-window: 'nan,2' is not"),
        (["--trace-window", "1,2"], "--trace-window: given, but there is neither"),
        (["--stalls", "0"], "stalls: 0"),
        (["--stalls", "many"], "--stalls"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert said in shown.err
    assert not list(Path().iterdir())


def test_a_trace_that_is_there_is_not_replaced_without_being_asked() -> None:
    Path("a.json").write_text("precious", encoding="utf-8")
    assert run("--trace-out", "a.json") == 2
    assert Path("a.json").read_text(encoding="utf-8") == "precious"
    assert run("--trace-out", "a.json", "--force") == 0
    assert events("a.json")
