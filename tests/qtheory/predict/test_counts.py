"""The number of those who follow a request varies as that of independent gaps does."""

from __future__ import annotations

import numpy as np

from qtheory.predict._bursts import Following
from qtheory.predict._counts import count_var
from qtheory.system.workload import GammaArrivals


def test_the_number_that_follows_an_arrival_varies_as_drawn_gaps_do() -> None:
    arrivals, rate_rps, n = GammaArrivals(cv=2.0), 2.0, 20_000
    times_s = np.array([0.2, 1.0, 5.0, 20.0])
    gaps = np.random.default_rng(0).gamma(0.25, 4 / rate_rps, (n, 250))
    at_s = gaps.cumsum(axis=1)
    assert at_s[:, -1].min() > times_s[-1]
    counts = np.array([(at_s <= time).sum(axis=1) for time in times_s])
    found = count_var(Following(arrivals=arrivals, rate_rps=rate_rps), rate_rps, times_s)
    square = (counts - counts.mean(axis=1, keepdims=True)) ** 2
    four_errors = 4 * square.std(axis=1) / n**0.5
    assert (np.abs(found - square.mean(axis=1)) < four_errors + 0.01 * found).all()
