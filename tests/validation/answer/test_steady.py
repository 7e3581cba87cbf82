"""Steady states: the warm-up is left out, overload is said, and precision is reached or not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.scenario import Scenario
from validation import answer
from validation.answer import Study
from validation.answer.point import build, replicate
from validation.answer.steady import OVERLOADED, STEADY, combine_steady, judge

LIGHT = Scenario(hardware="rtx3050", requests=1500, rate_rps=2.0)
THREE = Study(n_replications=3, steady=True)


def test_a_light_load_is_a_steady_state_with_goodput_the_share_of_the_rate() -> None:
    result = answer.run(LIGHT, study=THREE).result
    assert result.kind == STEADY
    low, high = result.limits["goodput_rps"]
    assert low < 2.0 < high
    assert result.goodput_frac == 1.0
    assert result.limits["goodput_frac"][0] < 1.0


def test_the_warm_up_is_left_out_and_counted() -> None:
    scenario = Scenario(hardware="rtx3050", rate_rps=5.5, requests=3000)
    steady = answer.run(scenario, study=THREE).result
    finite = answer.run(scenario, study=Study(n_replications=3)).result
    assert steady.n_warm_up_requests > 0
    assert steady.mean_ttft_s is not None
    assert finite.mean_ttft_s is not None
    assert steady.mean_ttft_s > finite.mean_ttft_s  # an empty start holds latencies down
    assert steady.n_requests == 3 * 3000


def test_an_overloaded_point_has_the_numbers_of_finite_runs_and_says_so() -> None:
    scenario = Scenario(hardware="rtx3050", rate_rps=12.0, requests=800)
    steady = answer.run(scenario, study=THREE).result
    finite = answer.run(scenario, study=Study(n_replications=3)).result
    assert (steady.kind, steady.n_warm_up_requests) == (OVERLOADED, 0)
    assert steady.mean_ttft_s == finite.mean_ttft_s
    assert steady.limits == finite.limits


@pytest.mark.parametrize("scheduler", ["chunked", "fcfs"])
@pytest.mark.parametrize(
    "study", [THREE, Study(n_replications=3, precision=0.1)], ids=["steady", "precision"]
)
def test_no_number_of_an_overloaded_point_is_one_of_a_steady_state(scheduler: str, study: Study) -> None:
    scenario = Scenario(hardware="rtx3050", rate_rps=12.0, requests=800, scheduler=scheduler)
    steady = answer.run(scenario, study=study).result
    finite = answer.run(scenario, study=Study(n_replications=3)).result
    assert steady.kind == OVERLOADED
    assert steady.precision_reached in (None, False)
    said = replace(steady, kind=finite.kind, precision_reached=None)
    assert said.row() == finite.row()
    longer = answer.run(replace(scenario, requests=1600), study=study).result
    assert longer.mean_ttft_s is not None
    assert steady.mean_ttft_s is not None
    assert longer.mean_ttft_s > 1.5 * steady.mean_ttft_s  # it grows with the run: there is no mean to tell


def test_shares_of_waiting_are_means_over_whole_runs() -> None:
    scenario = Scenario(hardware="rtx3050", rate_rps=5.5, requests=1500, max_seqs=24)
    result = answer.run(scenario, study=THREE).result
    point = build(scenario, THREE)
    alone = [replicate(point, index, THREE).result for index in range(3)]
    for name in ("waits_for_slots_frac", "waits_for_budget_frac", "waits_for_memory_frac"):
        assert getattr(result, name) == pytest.approx(np.mean([getattr(one, name) for one in alone])), name
    assert result.waits_for_slots_frac > 0.1  # 24 places are few at this rate
    assert result.waits_for_memory_frac == 0.0


def test_shares_of_waiting_that_no_run_knows_stay_unknown() -> None:
    point = build(LIGHT, THREE)
    names = ("waits_for_slots_frac", "waits_for_budget_frac", "waits_for_memory_frac")
    runs = [replicate(point, index, THREE) for index in range(2)]
    blind = [replace(one, result=replace(one.result, **dict.fromkeys(names))) for one in runs]
    assert [getattr(combine_steady(blind, 0.95), name) for name in names] == [None] * 3
    half = combine_steady([blind[0], runs[1]], 0.95)
    assert half.waits_for_budget_frac == runs[1].result.waits_for_budget_frac


def test_shedding_keeps_an_overload_stable_and_only_its_goodput_suffers() -> None:
    scenario = Scenario(hardware="rtx3050", mfu_frac=0.7, rate_rps=12.0, requests=1500, scheduler="slo")
    result = answer.run(scenario, study=THREE).result
    assert result.kind == STEADY
    assert 0.2 < result.goodput_frac < 0.8
    assert result.goodput_rps == pytest.approx(12.0 * result.goodput_frac, rel=0.05)


def test_runs_that_are_too_short_to_tell_leave_it_undecided() -> None:
    result = answer.run(Scenario(hardware="rtx3050", rate_rps=2.0, requests=30), study=THREE).result
    assert result.kind.startswith("undecided: ")


@pytest.mark.parametrize("n_replications", [1, 2])
@pytest.mark.parametrize("n_requests", [1, 3, 12, 25])
def test_a_handful_of_requests_gives_an_answer_without_limits_or_with(
    n_requests: int, n_replications: int
) -> None:
    scenario = Scenario(hardware="rtx3050", rate_rps=2.0, requests=n_requests)
    result = answer.run(scenario, study=Study(n_replications=n_replications, steady=True)).result
    assert result.mean_ttft_s is not None
    assert math.isfinite(result.mean_ttft_s)
    assert all(low <= high for low, high in result.limits.values())


def test_one_long_run_has_limits_from_its_batches() -> None:
    result = answer.run(LIGHT, study=Study(n_replications=1, steady=True)).result
    low, high = result.limits["p99_ttft_s"]
    assert result.p99_ttft_s is not None
    assert low < result.p99_ttft_s < high
    assert "goodput_rps" not in result.limits


def test_a_closed_loop_is_stable() -> None:
    scenario = Scenario(hardware="rtx3050", arrivals="closed(concurrency=8)", requests=600)
    result = answer.run(scenario, study=THREE).result
    assert result.kind == STEADY
    assert result.throughput_rps > 0


def test_a_steady_state_has_a_length_of_its_own_unless_one_is_given() -> None:
    assert build(Scenario(), THREE).scenario.requests == 10_000
    assert build(Scenario(), THREE).is_length_free
    assert not build(Scenario(requests=500), THREE).is_length_free
    assert not build(Scenario(), Study()).is_length_free
    assert build(Scenario(duration_s=5.0), THREE).scenario.requests is None


def test_precision_is_reached_with_the_replications_that_it_takes() -> None:
    scenario = Scenario(hardware="rtx3050", rate_rps=2.0, requests=300)
    taken = []
    for precision in (0.2, 0.05):
        result = answer.run(scenario, study=Study(n_replications=2, precision=precision)).result
        assert result.precision_reached
        assert result.mean_ttft_s is not None
        low, high = result.limits["mean_ttft_s"]
        assert (high - low) / 2 <= precision * result.mean_ttft_s
        taken.append(result.n_replications)
    assert taken[0] < taken[1]


def test_no_more_requests_than_allowed_are_simulated() -> None:
    study = Study(n_replications=2, precision=0.001, max_requests=1000)
    result = answer.run(Scenario(hardware="rtx3050", rate_rps=2.0, requests=100), study=study).result
    assert result.precision_reached is False
    assert result.n_requests == 1000


def test_overload_ends_the_search_for_precision_at_once() -> None:
    study = Study(n_replications=2, precision=0.001)
    result = answer.run(Scenario(hardware="rtx3050", rate_rps=12.0, requests=800), study=study).result
    assert (result.kind, result.n_replications, result.precision_reached) == (OVERLOADED, 2, False)


def test_most_replications_decide() -> None:
    runs = [replicate(build(LIGHT, THREE), index, THREE) for index in range(3)]
    point = build(Scenario(hardware="rtx3050", rate_rps=12.0, requests=800), THREE)
    grown = [replicate(point, index, THREE) for index in range(2)]
    assert judge(runs).verdict == "stable"
    assert judge([*grown, runs[0]]).verdict == "overloaded"
    assert judge([grown[0], runs[0]]).verdict == "undecided"


def test_what_has_no_steady_state_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^stop_s: 5"):
        build(Scenario(stop_s=5.0), THREE)
    with pytest.raises(ConfigError, match=r"^arrivals: day.*a rate that changes"):
        build(Scenario(arrivals="day(peak_to_mean=1.5, period_s=600)"), THREE)
    with pytest.raises(ConfigError, match=r"^precision: a trace"):
        build(Scenario(trace="any.csv"), Study(precision=0.1))
    with pytest.raises(ConfigError, match="max_requests: 99 is less than the 50,000"):
        build(Scenario(), Study(precision=0.1, max_requests=99))
