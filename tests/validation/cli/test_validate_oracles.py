"""The checker of known values, as a command."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from validation.cli.app import main

EXTRACT = Path(__file__).parents[2] / "data" / "oracles" / "known_values.csv"
HEADER = "id,model,parameters,quantity,value,rtol\n"
ROW = 'a,M/M/1,"{""lam"": 0.5, ""mu"": 1.0}",mean_wait,1,1e-8\n'
WRONG = 'b,M/D/1,"{""lam"": 0.5, ""D"": 1.0}",mean_wait,0.6,1e-8\n'
LACKING = 'c,M/X/1,"{}",mean_wait,1,1e-8\n'


@pytest.fixture(name="table")
def _table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(HEADER + ROW + WRONG + LACKING, encoding="utf-8")
    return path


def test_every_model_has_a_line_and_the_last_line_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "oracles", str(EXTRACT)]) == 0
    lines = capsys.readouterr().out.splitlines()
    with EXTRACT.open(encoding="utf-8") as file:
        models = [row["model"] for row in csv.DictReader(file)]
    assert [line.partition(" ... ")[0] for line in lines[:-1]] == list(dict.fromkeys(models))
    assert lines[-1] == f"{len(models)} passed, 0 failed"


def test_a_failed_row_and_a_model_that_is_not_there_give_exit_code_1(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", "oracles", str(table)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "M/M/1 ... 1 passed, 0 failed, worst relative error 0",
        "M/D/1 ... 0 passed, 1 failed, worst relative error 0.17",
        "  failed: b: mean_wait is 0.5, not 0.6 (relative error 0.17, allowed 1e-08)",
        "M/X/1 ... 0 passed, 1 failed, worst relative error -",
        "  failed: c: mean_wait is not computed, not 1 (unknown model (did you mean 'M/M/1'?))",
        "1 passed, 2 failed",
    ]


def test_programs_get_the_figures(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "oracles", str(table), "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["summary"] == {"n_passed": 1, "n_failed": 2}
    assert found["result"][1] == {
        "model": "M/D/1",
        "n_passed": 0,
        "n_failed": 1,
        "worst_relative_error": pytest.approx(1 / 6),
    }
    assert [row["id"] for row in found["failures"]] == ["b", "c"]
    assert main(["validate", "oracles", str(table), "--format", "csv"]) == 1
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["model"] for row in rows] == ["M/M/1", "M/D/1", "M/X/1"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("lost.csv", None, "lost.csv: cannot be read: no such file"),
        ("empty.csv", "", "empty.csv: is empty; give a CSV file"),
        ("columns.csv", "a,b\n1,2\n", "columns.csv: column 'id' is missing"),
        ("header.csv", HEADER, "header.csv: has no row"),
        ("json.csv", HEADER + ROW.replace("}", ""), "json.csv: line 2: parameters: "),
        ("quantity.csv", HEADER + ROW.replace("mean_wait", "mean_wat"), "'mean_wat' is not known"),
        ("value.csv", HEADER + ROW.replace(",1,", ",one,"), "line 2: value: 'one' is not a number"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line_and_exit_code_2(
    name: str, content: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")
    assert main(["validate", "oracles", str(tmp_path / name)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert message in shown.err


def test_the_table_is_not_written_over(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = table.read_bytes()
    assert main(["validate", "oracles", str(table), "--out", str(table), "--force"]) == 2
    assert "is read by this command" in capsys.readouterr().err
    assert table.read_bytes() == before
