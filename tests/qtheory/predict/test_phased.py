"""Arrivals in phases: numbers that are known, and a queue before a server of gamma gaps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammainc

from qtheory.predict import limit_rps, predict
from qtheory.predict._phased import phased
from qtheory.system.workload import Arrivals, GammaArrivals, MmppArrivals, PoissonArrivals
from tests.qtheory.predict.worlds import FIXED, world

ONE_AT_A_TIME = {"output": "constant(1)", "max_seqs": 1}
TIMES = np.array([0.0, 0.4, 1.7, 6.0])


def test_after_an_arrival_the_mean_number_is_the_renewal_function_of_gamma_gaps() -> None:
    arrivals = phased(GammaArrivals(cv=2.0), 2.0, shortest_s=0.1, burstiness=4.0)
    counts = arrivals.counts(TIMES, 80)
    assert counts.sum(axis=(2, 3)) == pytest.approx(np.ones((4, arrivals.n_phases)))
    means = counts.sum(axis=3) @ np.arange(80.0)  # (t, p)
    n = np.arange(1, 400)[:, None]
    exact = gammainc(n / 4, 2.0 * TIMES / 4).sum(axis=0)  # P(n gaps of mean 1/2 and shape 1/4 <= t)
    assert means @ arrivals.after_idle()[0] == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("n_equal", [1, 3])
@pytest.mark.parametrize(
    "arrivals",
    [
        PoissonArrivals(),
        GammaArrivals(cv=2.0),
        MmppArrivals(rates=(1.0, 3.0), mean_s=(2.0, 1.0)),
        MmppArrivals(rates=(1, 2, 3, 4, 5, 6, 7), mean_s=(1,) * 7),
    ],
)
def test_rate_and_variance_of_a_long_time_are_kept(arrivals: Arrivals, n_equal: int) -> None:
    known = arrivals.dispersion(5.0)
    found = phased(arrivals, 5.0, shortest_s=0.1, burstiness=known, n_equal=n_equal)
    counts = found.counts(np.array([200.0]), 3_000)[0].sum(axis=2)  # (p, k)
    k = np.arange(3_000.0)
    mean = counts @ k
    assert mean == pytest.approx(np.full(found.n_phases, 1_000.0 / n_equal), rel=0.02)
    var = counts @ k**2 - mean**2
    assert var / mean == pytest.approx(np.full(found.n_phases, 1 + (known - 1) / n_equal), rel=0.03)


@pytest.mark.parametrize("load", [0.2, 0.5, 0.8, 0.95])
def test_one_at_a_time_the_wait_is_that_of_gamma_gaps_and_equal_services(load: float) -> None:
    replica, workload = world(**FIXED | ONE_AT_A_TIME, arrivals="gamma(cv=2)")
    limit = limit_rps(replica, workload)
    n = np.arange(1, 60_000)
    mean_gap = 1 / (load * limit)
    at = n * 0.11 / (4 * mean_gap)  # Spitzer: E[W] = sum of E[(n s - A_n)^+] / n
    waits = n * 0.11 * gammainc(n / 4, at) - n * mean_gap * gammainc(n / 4 + 1, at)
    exact = 0.11 + float((waits / n).sum())
    found = predict(replica, workload, rate_rps=load * limit)
    assert found.mean_ttft_s == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("within", [0.3, 1.0, 10.0, 1000.0])
def test_gaps_as_short_as_a_batch_are_as_likely_as_they_are(within: float) -> None:
    arrivals = phased(GammaArrivals(cv=2.0), 0.1, shortest_s=0.025, burstiness=4.0)
    time = np.array([within * 0.025])
    none = float(arrivals.counts(time, 3)[0, :, 0].sum(axis=1) @ arrivals.after_idle()[0])
    assert 1 - none == pytest.approx(float(gammainc(1 / 4, 0.1 * time[0] / 4)), rel=0.04)
