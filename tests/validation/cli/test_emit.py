"""Answers as table, JSON and CSV."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from validation.cli.emit import Answer, as_csv, as_json, emit
from validation.cli.options import Output, RunOutput

ROWS = [
    {
        "scheduler": "fcfs",
        "rate_rps": 2.0,
        "p99_tpot_s": float("nan"),
        "n_requests": np.int64(3),
        "good": np.bool_(True),
    },
    {
        "scheduler": "a,b",
        "rate_rps": np.float64(4.5),
        "p99_tpot_s": 0.05,
        "windows": [{"start_s": float("inf")}],
    },
]


def test_json_holds_schema_provenance_rows_and_what_there_is_more() -> None:
    answer = Answer(rows=ROWS, text="", provenance={"seed": 7}, more={"summary": [1]})
    data = json.loads(as_json(answer))
    assert list(data) == ["schema", "provenance", "result", "summary"]
    assert data["provenance"] == {"seed": 7}
    assert data["result"][0] == {
        "scheduler": "fcfs", "rate_rps": 2.0, "p99_tpot_s": None, "n_requests": 3, "good": True,
    }  # fmt: skip


def test_no_number_in_json_is_not_a_number() -> None:
    text = as_json(Answer(rows=ROWS, text=""))
    assert "NaN" not in text
    assert "Infinity" not in text


def test_csv_has_plain_names_and_empty_cells_where_there_is_nothing() -> None:
    lines = list(csv.DictReader(as_csv(ROWS).splitlines()))
    assert list(lines[0]) == ["scheduler", "rate_rps", "p99_tpot_s", "n_requests", "good", "windows"]
    assert lines[0]["p99_tpot_s"] == lines[0]["windows"] == ""
    assert lines[1]["scheduler"] == "a,b"
    assert float(lines[1]["rate_rps"]) == 4.5


def test_a_file_gets_what_the_terminal_would(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = Answer(rows=ROWS, text="a table")
    for form in ("table", "json", "csv"):
        path = tmp_path / form
        emit(answer, Output(format=form))
        printed = capsys.readouterr().out
        emit(answer, Output(format=form, out=str(path)))
        assert path.read_text(encoding="utf-8") == printed
        assert capsys.readouterr().out == ""


def test_nothing_is_printed_if_a_file_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(path: Path) -> None:
        raise OSError(13, "Permission denied", str(path))

    with pytest.raises(ConfigError, match="Permission denied"):
        emit(Answer(rows=ROWS, text="a table"), RunOutput(plot=str(tmp_path / "a.svg")), {"--plot": fail})
    assert capsys.readouterr().out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_picture_of_an_unknown_kind_is_refused_before_the_work() -> None:
    with pytest.raises(ConfigError, match=r"--plot: knee\.jpeg: .*\.png, \.svg, \.pdf"):
        RunOutput(plot="knee.jpeg").check()
