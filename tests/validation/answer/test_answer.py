"""Replications: the same requests for everybody, means with their limits, the same numbers anywhere."""

from __future__ import annotations

import math
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError, ServingError
from qtheory.system.results import ESTIMATED, RunResult
from qtheory.system.scenario import Scenario
from sim.statistics import replication_interval
from validation import answer
from validation.answer import Run, Study, Workers, differences, requests_of, work
from validation.answer.point import build, replicate

SMALL = Scenario(hardware="rtx3050", rate_rps=4.0, requests=40, workload="rag", tpot_slo_s=0.1)
RECORDS = Study(n_replications=3, keep_records=True)


def values(run: Run, name: str) -> list[float]:
    """Field of each replication, simulated on its own."""
    point = build(run.scenario, Study())
    results = [replicate(point, index, Study()).result for index in range(run.result.n_replications)]
    return [getattr(result, name) for result in results]


def numbers(runs: list[Run]) -> list[RunResult]:
    return [run.result for run in runs]


def test_a_replication_has_the_same_requests_under_every_scheduler_and_at_every_rate() -> None:
    runs = answer.sweep(SMALL, ["fcfs", "slo"], [2.0, 8.0], study=RECORDS)
    for index in range(3):
        first, *others = (run.records[index].requests for run in runs)
        for run, other in zip(runs[1:], others, strict=True):
            stretched = other.arrival_s * (run.result.rate_rps / 2.0)
            assert np.allclose(stretched, first.arrival_s, rtol=1e-12)
            assert np.array_equal(other.prompt_tokens, first.prompt_tokens)
            assert np.array_equal(other.output_tokens, first.output_tokens)
    a, b = (runs[0].records[index].requests for index in (0, 1))
    assert not np.array_equal(a.prompt_tokens, b.prompt_tokens)


def test_a_replication_does_not_depend_on_how_many_there_are() -> None:
    few, many = (answer.run(SMALL, study=Study(n_replications=n, keep_records=True)).records for n in (2, 4))
    assert np.array_equal(few[1].finish_s, many[1].finish_s)
    first = requests_of(build(SMALL, Study()).workload, SMALL.seed)
    assert np.array_equal(few[0].requests.arrival_s, first.arrival_s)


@pytest.mark.parametrize("name", ["mean_ttft_s", "p99_tpot_s", "p95_itl_s", "throughput_rps", "mfu_frac"])
def test_a_number_is_the_mean_over_replications_with_its_interval(name: str) -> None:
    run = answer.run(SMALL, study=Study(level=0.9))
    interval = replication_interval(values(run, name), level=0.9)
    assert getattr(run.result, name) == pytest.approx(interval.estimate, rel=1e-12)
    assert run.result.limits[name] == pytest.approx((interval.low, interval.high), rel=1e-12)
    assert run.result.level == 0.9


def test_counts_are_totals_and_goodput_is_of_all_requests() -> None:
    run = answer.run(SMALL)
    assert run.result.n_requests == 5 * 40
    shares = values(run, "goodput_frac")
    assert run.result.goodput_frac == pytest.approx(sum(shares) / 5)
    assert run.result.max_itl_s == max(values(run, "max_itl_s"))


@pytest.mark.parametrize("limit_s", [1e-9, 1e9])
def test_a_share_of_none_or_all_has_limits_of_some_width(limit_s: float) -> None:
    result = answer.run(replace(SMALL, ttft_slo_s=limit_s, tpot_slo_s=1e9)).result
    low, high = result.limits["goodput_frac"]
    assert result.goodput_frac in (0.0, 1.0)
    assert 0.001 < high - low < 0.2


@pytest.mark.parametrize("limit_s", [1e-9, 1e9])
def test_runs_without_records_that_agree_leave_a_share_of_some_width(limit_s: float) -> None:
    study = Study(lean=True)
    result = answer.run(replace(SMALL, ttft_slo_s=limit_s, tpot_slo_s=1e9), study=study).result
    low, high = result.limits["goodput_frac"]
    assert result.goodput_frac in (0.0, 1.0)
    assert 0.001 < high - low < 0.6


def test_goodput_has_the_same_limits_with_and_without_records() -> None:
    scenario = replace(SMALL, rate_rps=2.3, requests=400, tpot_slo_s=None)
    whole, lean = (answer.run(scenario, study=Study(lean=lean)).result for lean in (False, True))
    assert 0.1 < whole.goodput_frac < 0.9
    assert lean.goodput_frac == pytest.approx(whole.goodput_frac, rel=1e-12)
    assert lean.limits["goodput_frac"] == pytest.approx(whole.limits["goodput_frac"], rel=1e-9)


def test_the_rate_of_a_day_is_the_mean_of_the_day_whatever_part_of_it_is_seen() -> None:
    day = replace(SMALL, requests=None, arrivals="day(peak_to_mean=2, period_s=400)", rate_rps=1.0)
    whole, quarter = (answer.run(replace(day, duration_s=duration_s)).result for duration_s in (400.0, 100.0))
    assert whole.rate_rps == quarter.rate_rps == 1.0
    assert abs(whole.n_requests - 5 * 400) < 4 * 2000**0.5
    risen = 5 * (100 + 400 / (2 * math.pi))  # the first quarter of 1 + sin
    assert abs(quarter.n_requests - risen) < 4 * risen**0.5


def test_every_estimated_number_has_limits_and_one_replication_has_none() -> None:
    assert set(answer.run(SMALL).result.limits) == set(ESTIMATED) - {"cached_frac"}
    alone = answer.run(SMALL, study=Study(n_replications=1)).result
    assert (alone.n_replications, alone.limits, alone.kind) == (1, {}, "finite run")


def test_replications_without_a_value_are_left_out() -> None:
    result = answer.run(replace(SMALL, output="constant(1)"), study=Study(n_replications=2)).result
    assert result.mean_tpot_s is None
    assert "mean_tpot_s" not in result.limits
    assert result.mean_ttft_s is not None


@pytest.mark.parametrize("executor", [lambda: ThreadPoolExecutor(3), lambda: Workers(1), lambda: Workers(3)])
def test_the_numbers_do_not_depend_on_where_they_are_made(executor: Any) -> None:
    here = answer.sweep(SMALL, ["fcfs", "chunked"], [2.0, 6.0])
    pool: Executor
    with executor() as pool:
        there = answer.sweep(SMALL, ["fcfs", "chunked"], [2.0, 6.0], executor=pool)
    assert numbers(here) == numbers(there)
    assert [run.values for run in here] == [run.values for run in there]


def test_nothing_is_simulated_before_all_scenarios_are_found_good(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    monkeypatch.setattr(work, "replicate", lambda *_: begun.append(1))
    with pytest.raises(ConfigError, match="chuncked"):
        answer.compare(SMALL, ["fcfs", "chuncked"])
    assert begun == []


def test_progress_counts_points() -> None:
    told: list[tuple[int, int]] = []
    answer.compare(SMALL, ["fcfs", "slo"], progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]


def test_records_stay_only_if_they_are_wanted() -> None:
    assert answer.run(SMALL).records == ()
    assert len(answer.run(SMALL, study=RECORDS).records) == 3


def test_pairs_see_differences_that_intervals_side_by_side_do_not() -> None:
    chat = Scenario(hardware="rtx3050", rate_rps=10.0, requests=200)
    runs = answer.compare(chat, ["fcfs", "chunked"])
    found = {one.quantity: one for one in differences(runs)}["mean_ttft_s"]
    (low_a, high_a), (low_b, high_b) = (run.result.limits["mean_ttft_s"] for run in runs)
    assert max(low_a, low_b) < min(high_a, high_b)  # they overlap
    assert found.verdict == "fcfs lower"
    assert found.high < 0


def test_the_same_scheduler_is_no_different_from_itself() -> None:
    run = answer.run(SMALL)
    other = replace(run, result=replace(run.result, scheduler="again"))
    assert {one.verdict for one in differences([run, other])} == {"no difference"}


def test_differences_need_two_replications_with_values() -> None:
    assert differences(answer.compare(SMALL, ["fcfs", "slo"], study=Study(n_replications=1))) == []
    assert differences([answer.run(SMALL)]) == []
    short = answer.compare(replace(SMALL, output="constant(1)"), ["fcfs", "slo"])
    assert {one.quantity for one in differences(short)} == {"goodput_frac", "mean_ttft_s", "p99_ttft_s"}


def test_an_error_of_a_process_comes_out_as_the_same_error() -> None:
    bad = replace(SMALL, rate_rps=1e9, requests=None, duration_s=1e6)
    with pytest.raises(ServingError, match="lower the rate"), Workers(2) as workers:
        answer.run(bad, executor=workers)


def test_a_trace_at_a_rate_says_how_many_times_faster_that_is(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("arrival_s,prompt_tokens,output_tokens\n0.0,100,5\n1.0,100,5\n4.0,100,5\n")
    scenario = Scenario(hardware="rtx3050", trace=str(path))
    found = answer.run(replace(scenario, rate_rps=2.0)).result
    assert (found.rate_rps, found.speed) == (2.0, 4.0)
    assert answer.run(replace(scenario, speed=4.0)).result.rate_rps == 2.0
    assert answer.run(replace(SMALL, requests=5)).result.speed is None
