"""Knees by simulation: the place follows from runs, the intervals hold, and a prediction saves the search."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.scenario import Scenario
from validation._bracketed import bracketed
from validation._located import locate
from validation._sampled import Sample, plan_of, sample
from validation.knees.solved import SolvedQueue
from validation.refine import Goal, refine

SMALL = Scenario(
    hardware="rtx3050",
    prompt="lognormal(mean=300,cv=0.5)",
    output="lognormal(mean=20,cv=0.5)",
    ttft_slo_s=0.3,
)
KNEE, SLOPE, SURPLUS = 5.0, 14.0, 9.0


def made_up(rate: float, rng: np.random.Generator, n: int = 8_000, worth: int = 400) -> Sample:
    """A run of a queue whose share of late requests is known, with as many independent requests."""
    ahead = float(rng.normal(0.0, 0.01))
    share = min(0.1 * math.exp(SLOPE * math.log(rate / KNEE) + SURPLUS * ahead), 1.0)
    share *= math.exp(-((SURPLUS * 0.01) ** 2) / 2)  # so that the mean over runs is on the line
    bad = rng.binomial(worth, min(share, 1.0)) / worth
    return Sample(
        rate_rps=rate,
        n_requests=n,
        bad_frac=float(bad),
        ahead_frac=ahead,
        n_effective=float(worth),
        missed={"TTFT": float(bad)},
        mean_e2e_s=1.0,
        waits={"slots": 0.0},
    )


def test_intervals_hold_a_known_knee_and_the_surplus_of_work_makes_them_narrower() -> None:
    held, widths = [], []
    for seed in range(100):
        rng = np.random.default_rng([3, seed])
        runs = [made_up(4.9 * (1.025 if i % 2 else 0.975), rng) for i in range(16)]
        with_it = locate(runs, bad_frac=0.1, slope=SLOPE, level=0.95)
        without = locate(runs, bad_frac=0.1, slope=SLOPE, level=0.95, use_ahead=False)
        assert with_it is not None
        assert without is not None
        held.append(with_it.low_rps <= KNEE <= with_it.high_rps)
        widths.append(with_it.half_frac / without.half_frac)
    assert np.mean(held) >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / 100)
    assert np.median(widths) < 1.0


def test_a_slope_that_was_guessed_wrong_by_half_does_no_harm() -> None:
    rng = np.random.default_rng(5)
    runs = [made_up(4.95 * (1.03 if i % 2 else 0.97), rng) for i in range(60)]
    for guess in (0.5 * SLOPE, 1.5 * SLOPE):
        found = locate(runs, bad_frac=0.1, slope=guess, level=0.95)
        assert found is not None
        assert found.low_rps <= KNEE <= found.high_rps


def test_without_a_late_request_there_is_no_place() -> None:
    rng = np.random.default_rng(6)
    runs = [replace(made_up(1.0, rng), bad_frac=0.0) for _ in range(8)]
    assert locate(runs, bad_frac=0.1, slope=SLOPE, level=0.95) is None


@pytest.mark.parametrize("start", [0.02, 1.0, 5.0, 300.0])
def test_short_runs_find_the_neighbourhood_from_anywhere(start: float) -> None:
    rng, n_runs = np.random.default_rng(7), [0]

    def run(rates: list[float], length: int) -> list[Sample]:
        n_runs[0] += len(rates)
        return [made_up(rate, rng, n=length) for rate in rates]

    near = bracketed(run, start_rps=start, slope=None, bad_frac=0.1)
    assert near is not None
    assert near.rate_rps == pytest.approx(KNEE, rel=0.05)
    assert n_runs[0] <= 60


def test_a_prediction_that_is_right_saves_the_search() -> None:
    rng, n_runs = np.random.default_rng(8), [0]

    def run(rates: list[float], length: int) -> list[Sample]:
        n_runs[0] += len(rates)
        return [made_up(rate, rng, n=length) for rate in rates]

    bracketed(run, start_rps=1.01 * KNEE, slope=SLOPE, bad_frac=0.1)
    assert n_runs[0] == 2


def test_the_surplus_of_work_has_mean_zero() -> None:
    plan = plan_of(SMALL)
    ahead = np.array([sample(plan, 20.0, 1_000, i).ahead_frac for i in range(60)])
    assert abs(ahead.mean()) < 4 * ahead.std(ddof=1) / math.sqrt(len(ahead))


def test_a_refined_knee_is_the_same_again_and_within_what_was_asked() -> None:
    goal = Goal(precision=0.05)
    first, again = (refine(SMALL, start_rps=33.0, slope=14.0, goal=goal) for _ in range(2))
    assert (first.rate_rps, first.low_rps, first.high_rps) == (again.rate_rps, again.low_rps, again.high_rps)
    assert first.reached
    assert (first.high_rps - first.low_rps) / 2 <= 0.0501 * first.rate_rps


def test_requests_that_are_used_up_are_said() -> None:
    found = refine(SMALL, start_rps=33.0, slope=14.0, goal=Goal(precision=0.0005, max_requests=60_000))
    assert not found.reached
    assert "did not reach" in found.note


@pytest.mark.parametrize(
    "wrong", [{"precision": 0.0}, {"level": 1.0}, {"goodput_frac": 1.5}, {"max_requests": 0}]
)
def test_a_goal_that_is_none_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Goal(**wrong)  # type: ignore[arg-type]


@pytest.mark.slow
def test_intervals_hold_the_truth_of_long_runs() -> None:
    plan = plan_of(replace(SMALL, seed=1_000_003))
    long = [sample(plan, 32.9 * (1.02 if i % 2 else 0.98), 64_000, i) for i in range(60)]
    truth = locate(long, bad_frac=0.1, slope=15.0, level=0.95)
    assert truth is not None
    found = [refine(replace(SMALL, seed=seed), start_rps=33.2, slope=14.0) for seed in range(40)]
    held = np.mean([one.low_rps <= truth.rate_rps <= one.high_rps for one in found])
    assert held >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / 40)


@pytest.mark.parametrize("knee", [0.85, 0.95], ids=["a slope of 13", "a cliff of 44"])
def test_intervals_hold_the_knee_of_a_queue_that_is_solved(knee: float) -> None:
    goal, queue = Goal(precision=0.02, max_requests=1_600_000), SolvedQueue(knee_rps=knee)
    found = [
        refine(replace(SMALL, seed=seed), start_rps=0.75, goal=goal, simulate=queue) for seed in range(40)
    ]
    held = [one.low_rps <= knee <= one.high_rps for one in found if one.low_rps and one.high_rps]
    assert len(held) == 40
    assert np.mean(held) >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / 40)
    off = np.array([math.log(one.rate_rps / knee) for one in found if one.rate_rps])
    assert abs(off.mean()) < 4 * off.std(ddof=1) / math.sqrt(40)


def test_short_runs_that_a_scenario_asks_for_count_together() -> None:
    plan = plan_of(replace(SMALL, requests=50))
    both = [sample(plan, 150.0, 0, index) for index in (0, 1)]
    assert [one.n_requests for one in both] == [100, 100]
    assert both[0].bad_frac != both[1].bad_frac  # of runs of their own
    whole = sample(plan_of(replace(SMALL, requests=100)), 150.0, 0, 0)
    assert both[0].bad_frac < whole.bad_frac  # each run begins empty
