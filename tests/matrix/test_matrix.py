"""The table of commands, schedulers and kinds of load has no empty cell, and its cells are true."""

from __future__ import annotations

import itertools
import json
import runpy
from pathlib import Path

import pytest

from validation.cli.app import main

MATRIX = runpy.run_path(str(Path(__file__).with_name("__main__.py")))
CELLS = list(itertools.product(MATRIX["commands"](), MATRIX["schedulers"](), MATRIX["KINDS"]))
SIMULATED = [cell for cell in CELLS if MATRIX["cell"](*cell) == "simulation"]
TURNS = (
    '{"timestamp": 0, "input_length": 600, "output_length": 8, "hash_ids": [1, 2]}\n'
    '{"timestamp": 9000, "input_length": 900, "output_length": 8, "hash_ids": [1, 3]}\n'
)
PAGE = Path(__file__).parents[2] / "docs" / "matrix.md"


@pytest.mark.parametrize("cell", CELLS, ids=" ".join)
def test_no_cell_is_empty(cell: tuple[str, str, str]) -> None:
    assert MATRIX["cell"](*cell) in ("simulation", "theory", "not in this version")


@pytest.mark.parametrize("cell", SIMULATED, ids=" ".join)
def test_what_is_called_a_simulation_is_one(
    cell: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("arrival_s,prompt_tokens,output_tokens\n0.0,100,10\n0.5,200,5\n")
    trace.with_suffix(".jsonl").write_text(TURNS)
    assert main(MATRIX["words"](*cell, str(trace)).split()) == 0
    rows = json.loads(capsys.readouterr().out)["result"]
    assert cell[1] in {row["scheduler"] for row in rows}
    assert all(row["n_finished"] + row["n_shed"] == row["n_requests"] > 0 for row in rows)
    if cell[2] in ("prefixes", "conversations"):
        assert all(row["cached_tokens"] > 0 for row in rows)


def test_what_is_not_in_this_version_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    for name in MATRIX["PLANNED_SCHEDULERS"]:
        assert main(["run", "--scheduler", name, "--requests", "2"]) == 2
        assert "version" in capsys.readouterr().err


def test_the_page_shows_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    MATRIX["main"]()
    assert capsys.readouterr().out in PAGE.read_text(encoding="utf-8")
