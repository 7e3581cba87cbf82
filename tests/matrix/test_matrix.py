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
KNEES = [cell for cell in CELLS if cell[0] == "knee" and MATRIX["cell"](*cell) in ("simulation", "theory")]
SIMULATED = [
    cell for cell in CELLS if MATRIX["cell"](*cell) == "simulation" and cell[0] not in ("knee", "plan")
]
PREDICTIONS = [cell for cell in CELLS if cell[0] == "predict" and MATRIX["cell"](*cell) == "theory"]
PLANS = [cell for cell in CELLS if cell[0] == "plan" and MATRIX["cell"](*cell) == "theory"]
SOME = (("cache_aware", "law"), ("lifo", "law"), ("chunked", "prefixes"), ("chunked", "conversations"))
SIMULATED_PLANS = [pytest.param(("plan", *one), marks=pytest.mark.slow) for one in SOME]
TURNS = (
    '{"timestamp": 0, "input_length": 600, "output_length": 8, "hash_ids": [1, 2]}\n'
    '{"timestamp": 9000, "input_length": 900, "output_length": 8, "hash_ids": [1, 3]}\n'
)
PAGE = Path(__file__).parents[2] / "docs" / "matrix.md"


@pytest.mark.parametrize("cell", CELLS, ids=" ".join)
def test_no_cell_is_empty(cell: tuple[str, str, str]) -> None:
    assert MATRIX["cell"](*cell) in MATRIX["ANSWERS"]


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


@pytest.mark.parametrize("cell", KNEES, ids=" ".join)
def test_a_knee_is_answered_as_the_table_says(
    cell: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{0.8 * i:.1f},4000,{5 + i % 7}\n" for i in range(24))
    (tmp_path / "knee.csv").write_text(f"arrival_s,prompt_tokens,output_tokens\n{rows}")
    assert main(MATRIX["words"](*cell, str(tmp_path / "trace.csv")).split()) == 0
    (row,) = json.loads(capsys.readouterr().out)["result"]
    assert row["scheduler"] == cell[1]
    assert row["answered_by"].startswith(MATRIX["cell"](*cell))
    assert row["knee_rps"] > 0
    assert (row["n_requests"] > 0) == (row["answered_by"] == "simulation")


@pytest.mark.parametrize("cell", PREDICTIONS, ids=" ".join)
def test_a_prediction_is_answered_as_the_table_says(
    cell: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(MATRIX["words"](*cell, "trace.csv").split()) == 0
    answer = json.loads(capsys.readouterr().out)
    (row,) = answer["result"]
    assert row["scheduler"] == cell[1]
    assert 0 <= row["goodput_frac"] <= 1
    assert ("stretches" in answer) == (cell[2] == "day")


def test_the_page_shows_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    MATRIX["main"]()
    assert capsys.readouterr().out in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("cell", [*PLANS, *SIMULATED_PLANS], ids=" ".join)
def test_a_plan_is_answered_as_the_table_says(
    cell: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "trace.csv"
    rows = "".join(f"{0.5 * i:.1f},{100 + i},{10 + i % 7}\n" for i in range(40))
    trace.write_text(f"arrival_s,prompt_tokens,output_tokens\n{rows}")
    told = MATRIX["cell"](*cell)
    tier = "sim" if told == "simulation" else "closed"
    assert main([*MATRIX["words"](*cell, str(trace)).split(), "--tier", tier]) == 0
    (row,) = json.loads(capsys.readouterr().out)["result"]
    assert (row["scheduler"], row["answered_by"].partition(",")[0]) == (cell[1], told)
    assert row["n_replicas"] >= 1
