"""Percentiles: the estimate of the metrics, limits that know how little a tail proves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from qtheory.basics.errors import ConfigError
from qtheory.system import metrics
from sim.statistics import estimate_mean, estimate_percentile
from sim.statistics.percentile import _without


@pytest.mark.parametrize("q", [50, 90, 99, 99.9])
def test_the_estimate_is_the_percentile_of_all_requests(q):
    runs = [np.random.default_rng(i).exponential(size=900 + i) for i in range(10)]
    assert estimate_percentile(runs, q).estimate == pytest.approx(metrics.percentile(np.concatenate(runs), q))


def test_independent_requests_get_a_narrow_reliable_interval():
    interval = estimate_percentile(np.random.default_rng(1).exponential(size=50_000), 99)
    # standard error of an order statistic: sqrt(q (1 - q) / n) / density = sqrt(0.99 / 0.01 / n); estimated
    # from 32 batches it has itself a standard error of 1 / sqrt(62), and four of these are half of it
    assert interval.half_width == pytest.approx(1.96 * np.sqrt(0.99 / 0.01 / 50_000), rel=0.5)
    assert interval.reliable
    assert interval.contains(np.log(100))


def test_a_percentile_beyond_the_sample_says_so():
    interval = estimate_percentile(np.random.default_rng(1).exponential(size=500), 99.9)
    assert not interval.reliable
    assert "0.5 independent stretches, fewer than 3" in interval.reason


def test_limits_are_the_percentiles_whose_shares_a_test_lets_stand():
    run = np.random.default_rng(4).exponential(size=20_000)
    interval = estimate_percentile(run, 80, level=0.9)
    t = stats.t.ppf(0.95, interval.n_batches - 1)
    half = t * np.sqrt(0.8 * 0.2 / interval.n_effective)
    below = [np.mean(run <= limit) for limit in (interval.low, interval.high)]
    assert below == pytest.approx([0.8 - half, 0.8 + half], abs=2e-4)


def test_a_tail_known_from_few_stretches_is_as_correlated_as_the_latency(queue):
    busy = queue(0.95).waits(np.random.default_rng(3), 300_000)
    p99, mean = estimate_percentile(busy, 99), estimate_mean(busy)
    assert p99.n_effective <= mean.n_effective
    assert estimate_percentile(busy, 50).n_effective > mean.n_effective


def test_a_tail_in_few_stretches_is_not_reliable(queue):
    interval = estimate_percentile(queue(0.95).waits(np.random.default_rng(1), 50_000), 99)
    assert not interval.reliable
    assert "independent stretches" in interval.reason


@pytest.mark.parametrize("q", [1, 50, 99])
def test_ties_and_constants_keep_the_limits_around_the_estimate(q):
    steps = estimate_percentile(np.random.default_rng(1).integers(0, 3, size=2_000), q)
    assert steps.low <= steps.estimate <= steps.high
    flat = estimate_percentile(np.full(2_000, 7.0), q)
    assert (flat.low, flat.estimate, flat.high) == (7.0, 7.0, 7.0)


def test_input_that_cannot_be_taken_is_refused_by_name():
    with pytest.raises(ConfigError, match="q: 100"):
        estimate_percentile(np.ones(100), 100)
    with pytest.raises(ConfigError, match="at least 20"):
        estimate_percentile(np.ones(15), 50)


@pytest.mark.parametrize("n", [1, 7, 40])
@pytest.mark.parametrize("digits", [0, 12], ids=["ties", "no ties"])
def test_a_percentile_without_a_section_is_that_of_a_copy_without_it(n, digits):
    rng = np.random.default_rng(n)
    sections = [np.round(rng.exponential(size=n), digits) for _ in range(20)]
    pool = np.sort(np.concatenate(sections))
    for share in (0.01, 0.5, 0.9, 0.99, 1 / 3):
        for j, section in enumerate(sections):
            rest = np.concatenate(sections[:j] + sections[j + 1 :])
            assert _without(section, pool, share) == np.quantile(rest, share)
