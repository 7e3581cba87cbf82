"""Runs of a steady state are made long enough where no length is given, for all schedulers alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from qtheory.system.scenario import Scenario
from validation import answer
from validation.answer import Run, Study, Workers, kept_in, length, point
from validation.answer.length import next_length
from validation.answer.point import Replication, build, lengthened, replicate
from validation.answer.steady import OVERLOADED, STEADY

QUICK = Scenario(hardware="rtx3050", prompt="lognormal(mean=300,cv=1)", output="lognormal(mean=20,cv=1)")
LIGHT, BUSY, OVER = (
    Scenario(hardware="rtx3050", prompt=QUICK.prompt, output=QUICK.output, rate_rps=rate)
    for rate in (10.0, 32.0, 80.0)
)
STEADY_STUDY = Study(n_replications=2, steady=True)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies that begin with 600 requests a run and want 60 independent ones in all."""
    monkeypatch.setattr(point, "_STEADY_REQUESTS", 600)
    monkeypatch.setattr(length, "_GOAL", 60.0)


def replications(scenario: Scenario, study: Study = STEADY_STUDY, n_requests: int = 600) -> list[Replication]:
    made = lengthened(build(scenario, study), n_requests)
    return [replicate(made, index, study) for index in range(made.n_replications)]


def lengths(runs: list[Run]) -> list[int]:
    return [run.result.n_requests // run.result.n_replications for run in runs]


def test_runs_that_are_long_enough_stay_as_they_are() -> None:
    assert next_length(replications(LIGHT, n_requests=2_000), STEADY_STUDY) is None


def test_busy_runs_are_made_longer_by_a_factor_of_two_to_eight() -> None:
    wanted = next_length(replications(BUSY), STEADY_STUDY)
    assert wanted is not None
    assert 1_200 <= wanted <= 5_000
    assert wanted % 1_000 == 0


def test_an_overload_is_not_waited_for() -> None:
    assert next_length(replications(OVER), STEADY_STUDY) is None
    result = answer.run(OVER, study=STEADY_STUDY).result
    assert (result.kind, result.n_requests, result.n_warm_up_requests) == (OVERLOADED, 2 * 600, 0)


def test_no_more_requests_than_allowed_are_asked_for() -> None:
    study = Study(n_replications=2, precision=0.5, max_requests=1_500)
    assert next_length(replications(BUSY, study), study) == 750
    assert next_length(replications(BUSY, study, 750), study) is None


def test_a_length_that_is_given_is_kept() -> None:
    scenario = Scenario(
        hardware="rtx3050", rate_rps=32.0, requests=600, prompt=BUSY.prompt, output=BUSY.output
    )
    assert lengths([answer.run(scenario, study=STEADY_STUDY)]) == [600]


def test_the_study_goes_on_until_its_runs_are_long_enough() -> None:
    run = answer.run(BUSY, study=STEADY_STUDY)
    (n_requests,) = lengths([run])
    assert run.result.kind == STEADY
    assert n_requests > 600
    assert run.scenario.requests == run.workload.n_requests == n_requests
    assert next_length(replications(BUSY, n_requests=n_requests), STEADY_STUDY) is None


def test_schedulers_that_are_compared_see_the_same_requests() -> None:
    alone = [lengths([answer.run(one, study=STEADY_STUDY)])[0] for one in (LIGHT, BUSY)]
    assert alone[0] < alone[1]
    runs = answer.sweep(BUSY, ["static", "chunked", "fcfs"], [10.0, 32.0], study=STEADY_STUDY)
    by_rate = [
        {n for run, n in zip(runs, lengths(runs), strict=True) if run.result.rate_rps == rate}
        for rate in (10.0, 32.0)
    ]
    assert [len(found) for found in by_rate] == [1, 1]
    assert max(by_rate[1]) >= alone[1]


def test_processes_and_precision_make_no_difference_to_the_numbers() -> None:
    for study in (STEADY_STUDY, Study(n_replications=2, precision=0.2)):
        here = answer.compare(BUSY, ["chunked", "fcfs"], study=study)
        with Workers(2) as workers:
            there = answer.compare(BUSY, ["chunked", "fcfs"], study=study, executor=workers)
        assert [run.result for run in here] == [run.result for run in there]


def test_an_interrupted_comparison_goes_on_with_the_length_it_had(tmp_path: Path) -> None:
    out = tmp_path / "a.json"
    whole = answer.compare(BUSY, ["chunked", "fcfs"], study=STEADY_STUDY, kept=kept_in(out, resume=False))
    file = tmp_path / "a.json.partial"
    lines = file.read_bytes().splitlines(keepends=True)
    for left in lines:
        file.write_bytes(left)
        again = answer.compare(BUSY, ["chunked", "fcfs"], study=STEADY_STUDY, kept=kept_in(out, resume=True))
        assert [run.result for run in again] == [run.result for run in whole]
