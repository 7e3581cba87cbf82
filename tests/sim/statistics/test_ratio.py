"""Fieller's limits against the inequality that defines them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from qtheory.basics.errors import ConfigError, ConvergenceError
from sim.statistics import estimate_ratio, replication_interval


@pytest.mark.parametrize("seed", range(5))
def test_at_its_limits_the_difference_is_just_t_standard_errors_away(seed):
    rng = np.random.default_rng(seed)
    below = rng.gamma(4.0, size=12)
    above = 2 * below + rng.normal(size=12)
    interval = estimate_ratio(above, below)
    for limit in (interval.low, interval.high):
        off = above - limit * below
        assert abs(off.mean()) / stats.sem(off) == pytest.approx(stats.t.ppf(0.975, 11))


def test_a_constant_denominator_only_scales():
    above = np.array([1.0, 1.5, 0.5, 1.2])
    plain, ratio = replication_interval(above), estimate_ratio(above, np.full(4, 2.0))
    assert (ratio.low, ratio.high) == pytest.approx((plain.low / 2, plain.high / 2))


def test_a_denominator_that_may_be_zero_has_no_limits():
    with pytest.raises(ConvergenceError, match="not told from zero"):
        estimate_ratio([1.0, 2.0, 3.0], [0.1, -0.2, 0.15])
    with pytest.raises(ConvergenceError, match="not told from zero"):
        estimate_ratio([1.0, 2.0, 3.0], [0.0, 0.0, 0.0])


def test_pairs_must_match():
    with pytest.raises(ConfigError, match="denominators: 2 values"):
        estimate_ratio([1.0, 2.0, 3.0], [1.0, 2.0])
