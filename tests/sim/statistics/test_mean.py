"""Intervals for means against Student's t, known correlation and each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import signal, stats

from qtheory.basics.errors import ConfigError
from sim.statistics import estimate_mean, replication_interval


def _autoregression(rng, n, correlation):
    return signal.lfilter([1.0], [1.0, -correlation], rng.normal(size=n))


def test_few_replications_get_the_interval_of_student():
    values = np.array([3.0, 4.5, 2.5, 5.0, 4.0])
    want = stats.t.interval(0.9, 4, values.mean(), stats.sem(values))
    interval = replication_interval(values, level=0.9)
    assert (interval.low, interval.high) == pytest.approx(want)
    assert interval.n_replications == 5


def test_skewed_replications_stretch_the_interval_to_the_side_of_the_tail():
    values = np.random.default_rng(1).exponential(size=20)
    interval = replication_interval(values)
    assert interval.high - interval.estimate > interval.estimate - interval.low
    mirrored = replication_interval(-values)
    assert (mirrored.low, mirrored.high) == pytest.approx((-interval.high, -interval.low))


def test_symmetric_replications_get_the_interval_of_student_too():
    values = np.concatenate([np.arange(1.0, 8.0), -np.arange(1.0, 8.0)])
    want = stats.t.interval(0.95, 13, 0.0, stats.sem(values))
    assert (replication_interval(values).low, replication_interval(values).high) == pytest.approx(want)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_the_effective_number_follows_the_correlation_of_an_autoregression(correlation):
    n, seen = 20_000, []
    for seed in range(60):
        run = _autoregression(np.random.default_rng(seed), n, correlation)
        seen.append(1 / estimate_mean(run).n_effective)
    want = (1 + correlation) / (1 - correlation) / n
    # the correction for what correlation is left never narrows, so 5 % are allowed above
    error = 4 * np.std(seen) / np.sqrt(len(seen))
    assert want - error < np.mean(seen) < want * 1.05 + error


def test_replications_of_unequal_length_weigh_by_their_requests():
    runs = [np.full(100, 1.0), np.full(300, 3.0), np.full(200, 2.0)]
    interval = estimate_mean(runs)
    assert interval.estimate == pytest.approx(np.concatenate(runs).mean())
    assert interval.n_replications == 3
    assert interval.method == "replications"


def test_one_series_is_one_replication_however_it_is_given():
    run = np.random.default_rng(1).exponential(size=2_000)
    assert estimate_mean(run) == estimate_mean([run]) == estimate_mean(list(run))
    assert estimate_mean(run).n_batches in (11, 16, 23, 32)


def test_a_busy_queue_in_a_short_run_is_not_called_reliable(queue):
    busy = queue(0.95)
    one = estimate_mean(busy.waits(np.random.default_rng(1), 50_000))
    several = estimate_mean([busy.waits(np.random.default_rng([1, i]), 5_000) for i in range(10)])
    assert not one.reliable
    assert "independent requests" in one.reason
    assert not several.reliable


def test_many_short_replications_are_told_that_their_start_shows(queue):
    runs = [queue(0.9).waits(np.random.default_rng([2, i]), 1_000) for i in range(200)]
    interval = estimate_mean(runs)
    assert interval.n_effective > 200
    assert "start still shows" in interval.reason


def test_an_idle_queue_is_called_reliable(queue):
    assert estimate_mean(queue(0.5).waits(np.random.default_rng(1), 50_000)).reliable


def test_a_constant_series_has_an_interval_of_one_point():
    interval = estimate_mean(np.full(500, 2.0))
    assert (interval.low, interval.high, interval.n_effective) == (2.0, 2.0, 500.0)


@given(st.integers(0, 2**32 - 1), st.integers(11, 400), st.floats(1e-3, 1e3))
def test_milliseconds_or_seconds_give_the_same_interval(seed, n, scale):
    run = np.random.default_rng(seed).exponential(size=n)
    plain, scaled = estimate_mean(run), estimate_mean(scale * run)
    want = (scale * plain.low, scale * plain.high)
    assert (scaled.low, scaled.high) == pytest.approx(want, abs=1e-9 * scale)


def test_input_that_cannot_be_taken_is_refused_by_name():
    with pytest.raises(ConfigError, match="runs: one run of 10 values"):
        estimate_mean(np.ones(10))
    with pytest.raises(ConfigError, match="level: 95"):
        estimate_mean(np.ones(100), level=95)
    with pytest.raises(ConfigError, match="not finite"):
        estimate_mean([[1.0, 2.0], [np.nan, 1.0]])
    with pytest.raises(ConfigError, match="values: 1 values; give at least 2"):
        replication_interval([1.0])
    with pytest.raises(ConfigError, match="no replications"):
        estimate_mean(np.empty((0, 5)))
    with pytest.raises(ConfigError, match="float; give one series"):
        estimate_mean(3.0)
