"""`sched-sim validate agreement` says which cells agree, and its exit code whether the targets are met."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from validation.agreement import Simulated, Simulations, cells_of
from validation.agreement.grid import Cell
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
        (["--simulate", "2"], "--simulate: --grid quick simulates all cells, and keeps none"),
        (
            ["--grid", "full", "--simulate", "2", "--max-requests", "2000"],
            "--simulate: --max-requests simulates all cells, and keeps none",
        ),
        (["--grid", "full", "--simulate", "0"], "--simulate: 0 must be a whole number >= 1"),
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


@pytest.fixture(name="kept")
def _kept(monkeypatch: pytest.MonkeyPatch) -> dict[int, Simulated]:
    """Cells that are kept, with a simulator that adds what is asked for."""
    cells = cells_of("full")
    held = {
        number: Simulated(cell=cells[number], overload=None, kind="cannot be served") for number in (0, 1)
    }

    def simulate_more(more: list[Cell], **_: object) -> None:
        held.update({cell.number: Simulated(cell=cell, overload=None, kind="added now") for cell in more})

    versions = dict.fromkeys(range(300), "0.1.0")
    monkeypatch.setattr(
        "validation.agreement.read_simulations", lambda: Simulations(cells=dict(held), versions=versions)
    )
    monkeypatch.setattr("validation.agreement.simulate_more", simulate_more)
    return held


FULL = ["validate", "agreement", "--grid", "full", "--jobs", "1"]


def test_the_full_design_is_scored_by_its_kept_simulations(
    kept: dict[int, Simulated], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(FULL) == 1
    text = capsys.readouterr().out
    said = "Simulated side: 2 of 300 cells, as kept; the theory is asked anew; 298 are not simulated yet"
    assert text.startswith(f"{said}, --simulate N adds some.\n")
    assert text.endswith("2 cells: 2 not simulated\n")


def test_more_cells_are_simulated_and_kept_if_asked(kept: dict[int, Simulated], tmp_path: Path) -> None:
    out = tmp_path / "full.json"
    main([*FULL, "--simulate", "3", "--only", "fcfs", "--format", "json", "--out", str(out), "-q"])
    found = json.loads(out.read_text())
    assert len(kept) == len(found["result"]) == 5
    assert found["provenance"]["simulations"].startswith(
        "5 of 50 cells, as kept; the theory is asked anew; 45"
    )
    assert sum(row["kind"] == "added now" for row in found["result"]) == 3


def test_cells_of_which_none_is_kept_are_refused_with_a_way_out(
    kept: dict[int, Simulated], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*FULL, "--only", "7"]) == 2
    assert "--grid full: none of these cells is simulated yet; give --simulate 1" in capsys.readouterr().err
    kept[7] = Simulated(cell=cells_of("full")[7], overload=None, kind="cannot be served")
    main([*FULL, "--only", "7"])
    assert capsys.readouterr().out.startswith(
        "Simulated side: 1 of 1 cells, as kept; the theory is asked anew."
    )
