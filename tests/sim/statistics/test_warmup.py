"""MSER-5 against its definition, and what the cut does to runs that start empty."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from sim.statistics import common_warm_up, mser5, warm_up


def _by_definition(series) -> int:
    means = [np.mean(series[5 * i : 5 * i + 5]) for i in range(len(series) // 5)]
    k = len(means)
    scores = [np.sum((means[d:] - np.mean(means[d:])) ** 2) / (k - d) ** 2 for d in range(k // 2 + 1)]
    return 5 * int(np.argmin(scores))


@pytest.mark.parametrize("seed", range(20))
def test_the_cut_is_that_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    series = rng.exponential(size=503) - 3 * np.exp(-np.arange(503) / 40)
    assert mser5(series) == _by_definition(series)


def test_a_ramp_from_empty_is_cut_off():
    rng = np.random.default_rng(1)
    ramp = 50 * np.minimum(np.arange(5_000) / 800, 1) + rng.normal(size=5_000)
    found = warm_up(ramp)
    assert 700 <= found.n_cut <= 1_000
    assert not found.too_short


def test_an_early_busy_spell_is_cut_by_the_published_rule_and_kept_by_ours():
    rng = np.random.default_rng(2)
    series = rng.exponential(size=4_000)
    series[300:700] += 20
    assert mser5(series) >= 700
    assert warm_up(series).n_cut == 0


def test_a_run_that_grows_all_the_time_is_too_short():
    found = warm_up(np.arange(1_000.0))
    assert found.too_short
    assert "half of the run" in found.reason


def test_fewer_than_fifty_requests_are_too_short_and_not_cut():
    found = warm_up([0.0] * 20 + [5.0] * 20)
    assert (found.n_cut, found.too_short) == (0, True)
    assert "fewer than 50" in found.reason


def test_replications_are_averaged_over_the_shortest_of_them():
    rng = np.random.default_rng(3)
    shape = 5 * np.minimum(np.arange(900) / 200, 1)
    runs = [shape[:n] + rng.normal(size=n) for n in (900, 700, 800)]
    found = warm_up(runs)
    assert found.n_requests == 700
    assert found.n_cut == warm_up(np.mean([run[:700] for run in runs], axis=0)).n_cut > 0


def test_a_common_cut_is_the_longest_of_all_candidates():
    early, late = [0.0] * 20 + [1.0, 1.2] * 300, [0.0] * 90 + [1.0, 1.2] * 300
    assert common_warm_up([early, late]).n_cut == 90
    assert not common_warm_up([early, late]).too_short
    assert common_warm_up([early, np.arange(500.0)]).too_short


@given(
    st.integers(0, 2**32 - 1),
    st.integers(50, 600),
    st.sampled_from([2.0**-10, 1.0, 2.0**10]),
)
def test_the_cut_stays_within_the_first_half_and_knows_no_units(seed, n, scale):
    series = np.random.default_rng(seed).exponential(size=n)
    cut = mser5(series)
    assert cut % 5 == 0
    assert 0 <= cut <= n / 2
    assert mser5(scale * series) == cut


def test_a_value_that_is_not_finite_is_refused_by_number():
    with pytest.raises(ConfigError, match="2 of 100 values are not finite"):
        mser5([np.nan, np.inf] + [1.0] * 98)
