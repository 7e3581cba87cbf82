"""`sched-sim validate agreement --from FILE --report PAGE`: a long result shown again without simulating."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest

from tests.validation.agreement.kept import as_kept, made, refused
from validation.cli.app import main

SCORES = [made(0, 0.01), made(1, -0.3), made(2, 0.01, half=0.5), refused(3, "no <memory> & no hope")]
COMMAND = ["validate", "agreement", "--from"]
Captured = pytest.CaptureFixture[str]


@pytest.fixture(name="kept")
def _kept(tmp_path: Path) -> Path:
    path = tmp_path / "full.json"
    path.write_text(as_kept(SCORES), encoding="utf-8")
    return path


def test_the_page_counts_what_agrees_and_names_what_does_not(kept: Path, capsys: Captured) -> None:
    page = kept.with_name("page.html")
    assert main([*COMMAND, str(kept), "--report", str(page)]) == 1
    shown = html.unescape(page.read_text(encoding="utf-8"))
    assert "<p>Of 3 judged cells 1 within, 1 outside, 1 undecided. Not judged: 1 not simulated.</p>" in shown
    assert "<h2>Outside what is allowed</h2>" in shown
    assert '<td class="number">-30.0</td><td class="number">6.0</td>' in shown
    assert shown.count("<svg") == 1
    assert "cell 0: load 2 / 4 req/s = 0.5" in shown
    assert f"sched-sim validate agreement --from {kept} --report {page}" in shown
    assert f"{kept}: SHA-256 " in shown
    assert "queueserve 0.0.9, seed 0; grid = full" in shown
    assert "4 cells: 1 not simulated, 1 outside, 1 undecided, 1 within" in capsys.readouterr().out


def test_words_of_the_file_cannot_run_in_the_page(kept: Path) -> None:
    page = kept.with_name("page.html")
    main([*COMMAND, str(kept), "--report", str(page), "-q"])
    shown = page.read_text(encoding="utf-8")
    assert "no &lt;memory&gt; &amp; no hope" in shown
    assert "<memory>" not in shown


def test_what_is_read_is_written_again_with_its_origin(kept: Path, capsys: Captured) -> None:
    assert main([*COMMAND, str(kept), "--format", "json"]) == 1
    first = capsys.readouterr().out
    again = kept.with_name("again.json")
    again.write_text(first)
    assert json.loads(first)["provenance"]["version"] == "0.0.9"
    assert main([*COMMAND, str(again), "--format", "json"]) == 1
    assert capsys.readouterr().out == first


def test_some_of_the_cells_can_be_shown(kept: Path, capsys: Captured) -> None:
    assert main([*COMMAND, str(kept), "--only", "1", "--format", "json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["summary"] == {"n_cells": 1, "outside": 1}
    assert data["provenance"]["only"] == "1"
    assert main([*COMMAND, str(kept), "--only", "slow"]) == 2
    assert "--only: no cell has 'slow'" in capsys.readouterr().err


def test_a_page_of_cells_without_a_prediction_has_no_picture(tmp_path: Path) -> None:
    kept, page = tmp_path / "none.json", tmp_path / "none.html"
    kept.write_text(as_kept([refused(3, "no memory")]), encoding="utf-8")
    assert main([*COMMAND, str(kept), "--report", str(page), "-q"]) == 1
    assert "<svg" not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--grid", "full"], "--grid: says what to simulate, and --from simulates nothing"),
        (["--max-requests", "2000"], "--max-requests: says what to simulate"),
        (["--jobs", "2"], "--jobs: says what to simulate"),
        (["--seed", "2"], "--seed: says what to simulate"),
        (["--report", "page.htlm"], "--report: page.htlm must end in .html"),
        (["--report", "no/such/page.html"], "--report: no/such/page.html: the folder no/such does not exist"),
    ],
)
def test_bad_words_are_answered_in_one_line(
    words: list[str], said: str, kept: Path, capsys: Captured
) -> None:
    assert main([*COMMAND, str(kept), *words]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert said in shown.err


def test_the_file_that_is_read_is_never_written(kept: Path, capsys: Captured) -> None:
    before = kept.read_bytes()
    assert main([*COMMAND, str(kept), "--out", str(kept), "--force"]) == 2
    assert "is read by this command" in capsys.readouterr().err
    assert kept.read_bytes() == before
    assert main([*COMMAND, str(kept.with_name("ful.json"))]) == 2
    assert "no such file (did you mean 'full.json'?)" in capsys.readouterr().err
