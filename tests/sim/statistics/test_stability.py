"""Stable or not: queues below, at and above what they can take."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from sim.statistics import stability


@cache  # several tests count different verdicts of the same queues
def _verdicts(queue, rho, n, n_seeds, *, found=True):
    said = Counter()
    for seed in range(n_seeds):
        time_s, wait_s, number = queue(rho).path(np.random.default_rng([seed, int(100 * rho)]), n)
        said[stability(time_s, number if found else wait_s).verdict] += 1
    return said


@pytest.mark.parametrize("rho", [0.5, 0.8])
def test_a_queue_far_below_the_knee_is_stable(queue, rho):
    assert _verdicts(queue, rho, 10_000, 20)["stable"] == 20


@pytest.mark.parametrize("rho", [0.9, 0.95])
def test_a_queue_at_the_knee_is_not_called_overloaded(queue, rho):
    assert _verdicts(queue, rho, 20_000, 30)["overloaded"] == 0


def test_a_queue_above_its_capacity_is_called_overloaded(queue):
    assert _verdicts(queue, 1.2, 20_000, 20)["overloaded"] == 20


@pytest.mark.slow
@pytest.mark.parametrize("found", [True, False])
@pytest.mark.parametrize(
    ("rho", "verdict", "least", "most"),
    [
        (0.9, "overloaded", 0, 9),
        (0.95, "overloaded", 0, 9),
        (0.9, "stable", 180, 200),
        (1.05, "overloaded", 181, 200),
        (1.2, "overloaded", 181, 200),
        (1.0, "overloaded", 0, 22),  # at the border the level of the test: 10 + 4 standard errors
        (1.05, "stable", 0, 0),
    ],
)
def test_two_hundred_queues_are_judged_as_claimed(queue, rho, verdict, least, most, found):
    assert least <= _verdicts(queue, rho, 20_000, 200, found=found)[verdict] <= most


def test_the_slope_of_an_overload_is_what_comes_in_over_what_goes_out(queue):
    slopes = [
        stability(time_s, number).slope
        for time_s, _, number in (queue(1.2).path(np.random.default_rng(seed), 5_000) for seed in range(40))
    ]
    means = np.array([slope.estimate for slope in slopes])
    assert abs(means.mean() - 0.2) < 4 * means.std() / np.sqrt(40)  # arrivals 1.2, service 1 a second
    assert sum(slope.contains(0.2) for slope in slopes) >= 40 * (0.95 - 4 * np.sqrt(0.95 * 0.05 / 40))


@pytest.mark.parametrize("filled", [0.1, 0.3, 0.4])
def test_a_batch_that_fills_slowly_and_then_stays_is_not_overloaded(filled):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        level = 100 * np.minimum(np.arange(4_000) / (filled * 4_000), 1)
        said = stability(np.cumsum(rng.exponential(size=4_000)), level + rng.normal(scale=5, size=4_000))
        assert said.verdict != "overloaded"


def test_a_series_without_noise_is_judged_by_its_shape():
    time_s = np.arange(1_000.0)
    assert stability(time_s, np.zeros(1_000)).verdict == "stable"
    growing = stability(time_s, 3 * time_s)
    assert growing.verdict == "overloaded"
    assert growing.slope.estimate == pytest.approx(3.0)
    assert np.isfinite([growing.growth_t, growing.return_t]).all()
    assert stability(time_s, -time_s).verdict != "overloaded"


def test_too_few_samples_decide_nothing():
    said = stability(np.arange(90.0), np.arange(90.0))
    assert (said.verdict, said.slope) == ("undecided", None)
    assert "too few" in said.reason


def test_the_unit_of_time_scales_the_slope_only(queue):
    time_s, _, number = queue(1.1).path(np.random.default_rng(1), 5_000)
    plain, slow = stability(time_s, number), stability(1_000 * time_s, number)
    assert (plain.verdict, plain.growth_t) == (slow.verdict, slow.growth_t)
    assert slow.slope.estimate == pytest.approx(plain.slope.estimate / 1_000)


def test_times_out_of_order_are_refused():
    with pytest.raises(ConfigError, match="decreases"):
        stability([0.0, 2.0, 1.0], [0.0, 1.0, 2.0])
    with pytest.raises(ConfigError, match="series: 2 values"):
        stability([0.0, 2.0, 3.0], [0.0, 1.0])
    with pytest.raises(ConfigError, match="same moment"):
        stability(np.zeros(500), np.zeros(500))
