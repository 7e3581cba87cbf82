"""Requests of one recorded time moved apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.system.workload.readers import spread_ticks


def test_each_tick_is_divided_evenly_and_the_last_lasts_as_long_as_is_usual():
    assert spread_ticks(np.array([0.0, 0.0, 3.0, 6.0, 6.0, 6.0])).tolist() == [0.0, 1.5, 3.0, 6.0, 7.0, 8.0]


def test_a_pause_stays_a_pause():
    times = np.array([0.0, 0.0, 3.0, 6.0, 6.0, 3600.0])
    assert spread_ticks(times).tolist() == [0.0, 1.5, 3.0, 6.0, 7.5, 3600.0]


def test_times_that_differ_are_left_alone():
    times = np.array([0.5, 1.0, 7.25])
    assert spread_ticks(times).tolist() == times.tolist()
    assert spread_ticks(times[:1]).tolist() == [0.5]
    assert spread_ticks(times[:0]).tolist() == []


def test_random_shares_are_uniform_in_the_tick():
    times = np.repeat(3.0 * np.arange(200), 50)
    shares = (spread_ticks(times, np.random.default_rng(1)) - times) / 3.0
    n = len(shares)
    assert abs(shares.mean() - 0.5) <= 4 * np.sqrt(1 / 12 / n)
    assert abs((shares**2).mean() - 1 / 3) <= 4 * np.sqrt((1 / 5 - 1 / 9) / n)


@given(st.lists(st.integers(0, 30), min_size=2).filter(lambda ticks: len(set(ticks)) > 1), st.booleans())
def test_order_and_the_number_in_each_tick_stay_as_they_are(ticks, drawn):
    times = 3.0 * np.sort(np.array(ticks, dtype=float))
    spread = spread_ticks(times, np.random.default_rng(0) if drawn else None)
    assert np.all(np.diff(spread) >= 0)
    assert np.all(spread >= times)
    later = np.searchsorted(np.unique(times), times, side="right")
    limits = np.append(np.unique(times), np.inf)[later]
    assert np.all(spread < limits)


def test_what_cannot_be_spread_is_refused():
    with pytest.raises(ConfigError, match="all 3 requests come at 4 s; no tick"):
        spread_ticks(np.full(3, 4.0))
    with pytest.raises(ConfigError, match="row 1 is earlier"):
        spread_ticks(np.array([2.0, 1.0]))
