"""The checker of behaviour cases, as a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from validation.cli.app import main

SOURCE = Path(__file__).parents[2] / "data" / "scenarios"


@pytest.fixture(name="cases")
def _cases(tmp_path: Path) -> Path:
    for name in ("E01-admit-everything-that-fits", "M01-vllm-bench"):
        (tmp_path / f"{name}.json").write_bytes((SOURCE / f"{name}.json").read_bytes())
    return tmp_path


def test_every_case_has_a_line_and_the_last_line_counts(
    cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", "scenarios", str(cases)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "E01-admit-everything-that-fits ... passed",
        "M01-vllm-bench ... passed",
        "engine cases in both engines: 1",
        "2 passed, 0 failed",
    ]
    assert main(["validate", "scenarios", str(cases), "--only", "E01"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed"


def test_a_wrong_expectation_fails_with_exit_code_1(cases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = cases / "E01-admit-everything-that-fits.json"
    case = json.loads(path.read_text())
    case["expect"]["iterations"][0]["start"] += 0.5
    path.write_text(json.dumps(case))
    assert main(["validate", "scenarios", str(cases), "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["summary"] == {"n_passed": 1, "n_failed": 1}
    assert [row["outcome"] for row in found["result"]] == ["failed", "passed"]
    assert found["result"][0]["reasons"]


def test_a_case_that_cannot_be_read_fails_and_does_not_end_the_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Z1.json").write_text("{")
    (tmp_path / "Z2.json").write_text('{"id": "Z2", "kind": "dance"}')
    assert main(["validate", "scenarios", str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "0 passed, 2 failed"
    assert "JSON" in lines[0]
    assert "'dance'" in lines[1]
