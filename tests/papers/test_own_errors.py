"""The stored errors of our own models: how they are made from a result, and how they are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from papers import own_errors
from papers.own_errors import METRICS, errors_markdown, kept_rows, main, rows_of
from qtheory.basics.errors import ConfigError

CELL = {
    "scheduler": "fcfs",
    "hardware": "a100",
    "model": "m",
    "workload": "chat",
    "memory": "ample",
    "arrivals": "poisson",
    "load_frac": 0.5,
}
RESULT = {
    "result": [
        {
            "cell": CELL,
            "simulated": {"mean_ttft_s": 0.2, "mean_ttft_s_half": 0.013},
            "errors": {"numeric": {"mean_ttft_s": -0.0123}},
            "verdicts": {"numeric": "within"},
        }
    ]
}


def test_a_cell_becomes_a_line_and_what_is_missing_stays_empty() -> None:
    (row,) = rows_of(RESULT)
    assert (row["mean_ttft_s_numeric"], row["mean_ttft_s_closed"], row["mean_ttft_s_half"]) == (
        "-0.0123",
        "",
        "0.0130",
    )
    assert (row["numeric_verdict"], row["closed_verdict"]) == ("within", "refused")
    shown = errors_markdown([row]).splitlines()[-1]
    assert shown.startswith("| fcfs, a100, m, chat, ample, poisson | 0.5 | -1.2 / - (1.3) | - / - |")


@pytest.mark.parametrize("wrong", [{}, {"result": []}, {"result": [{}]}, []])
def test_another_result_is_refused(wrong: object) -> None:
    with pytest.raises(ConfigError, match="validate agreement"):
        rows_of(wrong)  # type: ignore[arg-type]


def test_the_command_writes_the_table_and_names_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(own_errors, "FILE", tmp_path / "errors.csv")
    given = tmp_path / "result.json"
    given.write_text(json.dumps(RESULT))
    assert main([str(given)]) == 0
    assert kept_rows() == rows_of(RESULT)
    assert main([]) == 2
    assert "needs one file" in capsys.readouterr().err
    assert main([str(tmp_path / "none.json")]) == 2
    assert "none.json" in capsys.readouterr().err


def test_every_cell_that_is_kept_has_numbers_and_a_verdict() -> None:
    rows = kept_rows()
    assert len(rows) == 20
    for row in rows:
        assert row["numeric_verdict"] in ("within", "outside", "undecided", "refused")
        assert all(row[f"{metric}_half"] for metric in METRICS)
