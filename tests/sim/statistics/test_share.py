"""Limits of a share: within 0 and 1, never of no width, and those of Wilson."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from sim.statistics import estimate_share


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize("runs", [1, 10])
def test_all_good_or_none_still_leaves_an_interval(value, runs):
    series = np.full((runs, 1_000), value)
    interval = estimate_share(series if runs > 1 else series[0])
    assert interval.estimate == value
    assert interval.half_width > 0.01
    assert 0 <= interval.low <= interval.high <= 1
    assert not interval.reliable
    assert "'like'" in interval.reason


def test_latencies_tell_how_much_a_spotless_run_proves(queue):
    good = np.ones(50_000)
    idle = estimate_share(good, like=queue(0.5).waits(np.random.default_rng(1), 50_000))
    busy = estimate_share(good, like=queue(0.95).waits(np.random.default_rng(1), 50_000))
    assert idle.reliable
    assert not busy.reliable
    assert busy.low < idle.low < 1


def test_a_few_bad_requests_prove_no_more_than_the_latency_does(queue):
    wait_s = queue(0.95).waits(np.random.default_rng(1), 50_000)
    good = np.ones(50_000)
    good[::10_000] = 0  # scattered, though the latency hangs together over thousands
    assert estimate_share(good, like=wait_s).n_effective < estimate_share(good).n_effective / 10


def test_limits_solve_the_equation_of_wilson():
    runs = np.random.default_rng(1).random((12, 400)) < 0.7
    interval = estimate_share(runs, level=0.9, whole=True)
    distance = [
        abs(interval.estimate - limit) / np.sqrt(limit * (1 - limit) / interval.n_effective)
        for limit in (interval.low, interval.high)
    ]
    assert distance == pytest.approx([1.7959, 1.7959], abs=1e-4)  # Student's t, 11 degrees of freedom, 90 %


def test_the_bad_share_mirrors_the_good_one():
    bad = np.random.default_rng(1).random(20_000) < 0.02
    one, other = estimate_share(bad), estimate_share(~bad)
    assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low))


def test_one_stretch_of_bad_requests_counts_as_one_event():
    good = np.ones(32_000)
    good[5_100:5_300] = 0
    interval = estimate_share(good)
    assert interval.n_effective * (1 - interval.estimate) == pytest.approx(1.0, rel=0.01)
    assert 1 - interval.low > 5 * (1 - interval.estimate)
    assert "1 independent stretches" in interval.reason


def test_many_scattered_bad_requests_are_reliable():
    good = np.random.default_rng(1).random(20_000) < 0.99
    assert estimate_share(good).reliable


def test_a_latency_given_for_a_share_is_refused():
    with pytest.raises(ConfigError, match="good or not"):
        estimate_share([0.3] * 100)
