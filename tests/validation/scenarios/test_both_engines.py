"""Engine cases run in both engines, and what does not is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sim.fast.state import State
from validation.scenarios import check_scenarios

CASES = Path(__file__).resolve().parents[2] / "data" / "scenarios"


def test_many_cases_run_in_both_engines_and_the_others_have_a_reason():
    results = check_scenarios(CASES, only=["E"])
    alone = [case.stepwise for case in results.cases if case.stepwise is not None]
    assert len(results.cases) - len(alone) >= 25
    assert results.engines_line().startswith(
        f"engine cases in both engines: {len(results.cases) - len(alone)};"
    )
    assert {"ordering", "preemption=swap"} <= set(alone)
    assert results.engines_line() in results.text().splitlines()


def test_other_kinds_say_nothing_of_engines():
    results = check_scenarios(CASES, only=["B01"])
    assert results.engines_line() == ""
    assert results.text().splitlines() == ["B01-share-full-blocks ... passed", "1 passed, 0 failed"]


def test_a_fault_in_the_fast_engine_alone_fails_the_case(monkeypatch: pytest.MonkeyPatch):
    plain = State.__init__

    def init(self: State, *args: object) -> None:
        plain(self, *args)
        self._max_seqs += 1

    monkeypatch.setattr(State, "__init__", init)
    (case,) = check_scenarios(CASES, only=["E06"]).cases
    assert case.outcome == "failed"
    assert all(reason.startswith("fast engine: ") for reason in case.reasons)
    assert any("requests." in reason for reason in case.reasons)


def test_a_wrong_expectation_of_a_request_fails_in_both(tmp_path):
    name = "E01-admit-everything-that-fits"
    case = json.loads((CASES / f"{name}.json").read_text())
    request = next(iter(case["expect"]["requests"].values()))
    request["ttft"] += 1
    (tmp_path / f"{name}.json").write_text(json.dumps(case))
    (result,) = check_scenarios(tmp_path).cases
    assert sorted(reason.startswith("fast engine: ") for reason in result.reasons) == [False, True]
