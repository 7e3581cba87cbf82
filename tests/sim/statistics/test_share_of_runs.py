"""A share known by run only: like the one from single requests, and never of no width."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from sim.statistics import estimate_share, estimate_share_of_runs


def test_it_is_the_interval_of_the_single_requests_where_these_say_enough():
    runs = [np.random.default_rng(i).random(400 + 50 * i) < 0.7 for i in range(8)]
    known = estimate_share(runs, whole=True, level=0.9)
    found = estimate_share_of_runs(
        [run.mean() for run in runs], [len(run) for run in runs], n_alike=1.0, level=0.9
    )
    assert (found.estimate, found.low, found.high) == pytest.approx((known.estimate, known.low, known.high))


@pytest.mark.parametrize("share", [0.0, 1.0, 0.9])
def test_replications_that_agree_leave_an_interval_that_shrinks_with_what_they_are_worth(share):
    wide, narrow = (
        estimate_share_of_runs([share] * 5, [1_000] * 5, n_alike=n).half_width for n in (100.0, 4_000.0)
    )
    assert 0 < narrow < wide / 2


def test_input_that_cannot_be_taken_is_refused_by_name():
    with pytest.raises(ConfigError, match="shares: give shares of 0 to 1"):
        estimate_share_of_runs([1.1, 1.0], [10, 10], n_alike=5.0)
    with pytest.raises(ConfigError, match="more than 0 requests"):
        estimate_share_of_runs([1.0, 1.0], [0, 0], n_alike=5.0)
    with pytest.raises(ConfigError, match="n_requests: 3 values, but there are 2 shares"):
        estimate_share_of_runs([1.0, 1.0], [10, 10, 10], n_alike=5.0)
    with pytest.raises(ConfigError, match="n_alike"):
        estimate_share_of_runs([1.0, 1.0], [10, 10], n_alike=0.0)
