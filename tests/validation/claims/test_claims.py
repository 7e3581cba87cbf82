"""Claims: those that stand are answered, a miss stays visible, a wrong name is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from validation.claims import CLAIMS, Claim, Finding, Measured, check_claims
from validation.cli.app import main

MISS = Claim(
    name="a-miss",
    question="Is it so?",
    source="a report",
    calibrated="nothing",
    teaches="something is different",
    answer=lambda: Finding(parts=(Measured(what="this", found="that", holds=False),)),
)


@pytest.mark.parametrize("name", [name for name, claim in CLAIMS.items() if not claim.needs])
def test_the_claim_holds(name: str) -> None:
    (result,) = check_claims([name]).results
    assert result.finding is not None
    assert [part for part in result.finding.parts if not part.holds] == []
    assert len(result.finding.parts) >= 2


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.name)
def test_a_claim_says_what_it_is_about(claim: Claim) -> None:
    assert claim.question.endswith("?")
    assert claim.source
    assert claim.calibrated
    assert claim.teaches


def test_the_same_claim_has_the_same_answer_each_time() -> None:
    assert check_claims(["watermark-preemptions"]).text() == check_claims(["watermark-preemptions"]).text()


def test_a_miss_stays_visible_and_gives_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(CLAIMS, "a-miss", MISS)
    assert main(["validate", "claims", "a-miss", "prefill-stalls"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:5] == [
        "a-miss ... failed: Is it so?",
        "  source: a report",
        "  calibrated: nothing",
        "  MISSED: this: that",
        "  a miss says: something is different",
    ]
    assert lines[-1] == "1 passed, 1 failed"


def test_a_claim_of_another_name_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "claims", "prefil-stalls"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "did you mean 'prefill-stalls'" in said.err


def test_without_its_data_a_claim_is_not_run_and_that_is_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", "claims", "mlperf", "prefill-stalls"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "mlperf ... not run: needs --data"
    assert lines[-1] == "1 passed, 0 failed, 1 not run"
    assert main(["validate", "claims", "mlperf", "--data", str(tmp_path)]) == 1  # nothing was
    assert f"not run: {tmp_path} has no benchmarks/" in capsys.readouterr().out


def test_programs_are_told_what_was_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "claims", "mlperf", "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["summary"] == {"n_passed": 0, "n_failed": 0, "n_not_run": 1}
    (row,) = found["result"]
    assert (row["outcome"], row["what"], row["holds"]) == ("not run", "needs --data", None)


def test_a_folder_that_there_is_not_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "claims", "mlperf", "--data", "no/such"]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.strip().splitlines()[-1][-28:]) == ("", "data: no/such is not a folder"[-28:])


def test_programs_get_every_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "claims", "prefill-stalls", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["summary"] == {"n_passed": 1, "n_failed": 0}
    assert [part["found"] for part in found["result"]] == ["2", "3", "5", "9", "1"]
    assert found["claims"][0]["source"].startswith("vLLM")


def test_a_finding_holds_if_all_its_parts_do() -> None:
    part = Measured(what="x", found="1", holds=True)
    assert Finding(parts=(part, part)).holds
    assert not Finding(parts=(part, replace(part, holds=False))).holds
