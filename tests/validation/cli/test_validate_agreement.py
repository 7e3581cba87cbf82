"""`sched-sim validate agreement` says which cells agree, and its exit code whether the targets are met."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from validation.cli.app import main

COMMAND = ["validate", "agreement", "--only", "61", "--max-requests", "2000", "--jobs", "1"]


def test_a_cell_has_a_line_its_group_and_the_targets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(COMMAND) == 1  # two thousand requests decide nothing
    text = capsys.readouterr().out
    assert "61    sjf" in text
    assert "M/G/1" in text
    assert "numeric: mean_ttft_s at load <= 0.8" in text
    assert text.endswith("1 cells: 1 undecided\n")


def test_json_and_csv_hold_the_numbers_and_a_picture_is_drawn(tmp_path: Path) -> None:
    out, picture, table = (tmp_path / name for name in ("a.json", "a.png", "a.csv"))
    main([*COMMAND, "--format", "json", "--out", str(out), "--plot", str(picture), "-q"])
    found = json.loads(out.read_text())
    (cell,) = found["result"]
    assert cell["cell"]["number"] == 61
    assert cell["verdicts"] == {"numeric": "undecided", "closed": cell["verdicts"]["closed"]}
    assert {"groups", "targets", "summary"} <= set(found)
    assert found["provenance"]["grid"] == "quick"
    assert found["provenance"]["effort"]["most_requests"] == 2000
    assert picture.stat().st_size > 10_000
    again, page = tmp_path / "again.json", tmp_path / "a.html"
    shown = ["validate", "agreement", "--from", str(out), "--format", "json", "--out", str(again)]
    assert main([*shown, "--report", str(page), "-q"]) == 1
    assert again.read_bytes() == out.read_bytes()
    assert "Of 1 judged cells 0 within, 0 outside, 1 undecided." in page.read_text()
    main([*COMMAND, "--format", "csv", "--out", str(table), "-q"])
    (row,) = csv.DictReader(table.open())
    simulated, predicted = (float(row[f"mean_tpot_s_{name}"]) for name in ("simulated", "numeric"))
    assert predicted == pytest.approx(simulated * (1 + cell["errors"]["numeric"]["mean_tpot_s"]))
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--grid", "ful"], "--grid: unknown 'ful' (did you mean 'full'?); one of quick, full, fresh"),
        (["--only", "fcsf"], "--only: no cell has 'fcsf' (did you mean 'fcfs'?)"),
        (["--seed", "3"], "--seed: 3 given, but the cells of quick are fixed"),
        (["--max-requests", "10"], "--max-requests: 10 must be a whole number >= 1000"),
        (["--jobs", "0"], "--jobs: 0 must be"),
        (["--resume"], "--resume: needs --out"),
    ],
)
def test_bad_words_are_answered_in_one_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", "agreement", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1
