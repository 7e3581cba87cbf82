"""The command plan: what it says first, for people and programs, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qtheory.basics.errors import UnstableError
from validation.cli import _plan_rows
from validation.cli.app import main

SMALL = "plan --model llama-3.1-8b --hardware h100,l4 --tp 1 --rate 30 --tier closed"


def test_the_first_lines_say_the_fleet_its_cost_and_how_certain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(SMALL.split()) == 0
    lines = capsys.readouterr().out.splitlines()
    first = lines[: lines.index("")]
    assert [line.split("  ")[0] for line in first if not line.startswith(" ")] == [
        "fleet", "cost", "one replica", "load", "binds", "shows", "certain", "power",
    ]  # fmt: skip
    assert "2 x (1 x h100" in lines[0]
    assert "$5.98 an hour" in lines[1]
    assert max(map(len, lines)) <= 110


def test_a_price_decides(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL.split(), "--price", "l4=0.05", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["result"][0]["hardware"] == "l4"
    assert data["result"][0]["usd_per_hour"] == pytest.approx(0.05 * data["result"][0]["n_replicas"])
    assert {price["hardware"] for price in data["provenance"]["prices"]} == {"h100", "l4"}


def test_a_day_is_answered_hour_by_hour(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*SMALL.split(), "--arrivals", "day(peak_to_mean=1.8)", "--format", "json"]
    assert main(words) == 0
    data = json.loads(capsys.readouterr().out)
    assert len(data["hours"]) == 24
    assert sum(hour["cost_usd"] for hour in data["hours"]) == pytest.approx(
        24 * data["result"][0]["usd_per_hour"]
    )


def test_a_day_without_a_fixed_fleet_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise UnstableError("no model of what that leaves")

    monkeypatch.setattr(_plan_rows, "fixed_fleets", refused)
    words = [*SMALL.split(), "--arrivals", "day(peak_to_mean=1.8)"]
    assert main(words) == 0
    assert "not predicted: no model of what that leaves" in capsys.readouterr().out
    assert main([*words, "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["fixed_fleets"], data["why_no_fixed_fleets"]) == ([], "no model of what that leaves")


def test_the_chosen_fleet_is_simulated_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "front.svg"
    words = "plan --model llama-3.1-8b --hardware h100 --tp 1 --rate 4 --tier closed --verify --format json"
    assert main([*words.split(), "--plot", str(picture)]) == 0
    assert json.loads(capsys.readouterr().out)["verified"]["word"] == "holds"
    assert picture.stat().st_size > 1000


def test_without_any_fleet_the_code_is_one_and_the_reason_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--model", "llama-3.1-70b", "--hardware", "l4", "--tp", "1", "--rate", "4"]) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("No fleet")
    assert "does not fit" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("plan", "model: missing"),
        ("plan --model llama-3.1-8b --hardware h200", "give --price h200=DOLLARS"),
        ("plan --model llama-3.1-8b --hardware h100 --price l4=1", "l4 is not among"),
        ("plan --model llama-3.1-8b --hardware h1000", "did you mean 'h100'"),
        ("plan --model llama-3.1-8b --tp 1,x", "--tp: 'x' is not a whole number"),
        ("plan --model llama-3.1-8b --weights fp9", "did you mean 'fp8'"),
        ("plan --model llama-3.1-8b --latency p90", "did you mean 'p90_e2e_s'"),
        ("plan --model llama-3.1-8b --plot a.gif", "cannot write a .gif picture"),
        ("plan --model llama-3.1-8b --report a.png", "--report: a.png must end in .html"),
        ("plan --model llama-3.1-8b --miss-prob 1", "--miss-prob: 1 must lie between 0 and 1, such as 0.05"),
        ("plan --model llama-3.1-8b --miss-prob 5", "--miss-prob: 5 must lie between 0 and 1, such as 0.05"),
        ("plan --model llama-3.1-8b --goodput-frac 0", "--goodput-frac: 0 must lie between 0 and 1"),
    ],
)
def test_bad_input_is_one_line(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.slow
def test_a_rate_at_which_the_numeric_tier_has_no_answer_takes_one_replica_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = "plan --model llama-3.1-8b --workload chat --hardware h100 --tp 1 --rate 40 --format json"
    assert main(words.split()) == 0
    assert json.loads(capsys.readouterr().out)["result"][0]["n_replicas"] == 3


def test_the_same_plan_by_any_number_of_processes(capsys: pytest.CaptureFixture[str]) -> None:
    words = "plan --model llama-3.2-1b --hardware l4,a100 --tp 1 --rate 20 --format json"
    told = []
    for jobs in ("1", "2"):
        assert main([*words.split(), "--jobs", jobs]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    assert json.loads(told[0])["result"][0]["answered_by"] == "theory, numeric"


def test_a_plan_needs_a_process(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--model", "llama-3.2-1b", "--hardware", "l4", "--rate", "1", "--jobs", "0"]) == 2
    assert "jobs: 0" in capsys.readouterr().err
