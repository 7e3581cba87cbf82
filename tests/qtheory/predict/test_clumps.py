"""Bursts in closed form: who comes with a request, and the laws that the formulas are made of."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from qtheory.predict import predict
from qtheory.predict._bursts import Following, batches_like, burstiness_within
from qtheory.predict._clumps import Clumps
from qtheory.predict._mixture import Mixture
from qtheory.system.workload import GammaArrivals, MmppArrivals
from tests.qtheory.predict.worlds import world

ONE = np.ones((1, 1))


def test_clumps_follow_as_the_gamma_gaps_do_at_any_rate() -> None:
    arrivals, times_s = GammaArrivals(cv=2.0), np.array([[0.01], [0.5], [20.0]])
    found = Clumps(arrivals=arrivals, dispersion=4.0).following(times_s, np.array([0.3, 4.0]))
    for place, rate_rps in enumerate((0.3, 4.0)):
        exact = Following(arrivals=arrivals, rate_rps=rate_rps)(times_s[:, 0])
        assert found[:, place] == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(
    "arrivals", [GammaArrivals(cv=2.0), MmppArrivals(rates=(1.0, 5.0), mean_s=(60.0, 20.0))]
)
def test_nobody_follows_within_no_time(arrivals: GammaArrivals | MmppArrivals) -> None:
    clumps = Clumps(arrivals=arrivals, dispersion=arrivals.dispersion(2.0))
    assert clumps.following(np.array([[0.0], [1.0]]), np.array([2.0]))[:, 0] == pytest.approx(
        [0.0, (burstiness_within(arrivals, 2.0, 1.0) - 1) / 2], rel=0.1
    )


def test_clumps_queue_as_the_gamma_gaps_do() -> None:
    clumps = Clumps(arrivals=GammaArrivals(cv=2.0), dispersion=4.0)
    for busy in (0.02, 0.27, 0.8):
        found = clumps.queueing(np.array([2.0]), np.array([busy / 2.0]), 0.0)
        assert found[0] == pytest.approx(batches_like(4.0, busy), rel=0.02)


def test_phases_are_followed_by_their_index_of_dispersion() -> None:
    arrivals = MmppArrivals(rates=(1.0, 5.0), mean_s=(60.0, 20.0))
    clumps = Clumps(arrivals=arrivals, dispersion=arrivals.dispersion(2.0))
    found = clumps.following(np.array([[1.0], [10.0]]), np.array([2.0]))[:, 0]
    exact = [(arrivals.dispersion(2.0, window_s) - 1) / 2 for window_s in (1.0, 10.0)]
    assert found == pytest.approx(exact, rel=0.1)


def test_part_of_the_arrivals_comes_in_smaller_clumps() -> None:
    times_s, rates_rps = np.array([3.0]), np.array([2.0])
    whole = Clumps(arrivals=GammaArrivals(cv=2.0), dispersion=4.0)
    half = Clumps(arrivals=GammaArrivals(cv=2.0), dispersion=2.5, kept_frac=0.5)
    assert half.following(times_s, rates_rps / 2) == pytest.approx(whole.following(times_s, rates_rps) / 2)


@pytest.mark.parametrize("scheduler", ["fcfs", "chunked", "orca"])
def test_at_vanishing_load_who_is_not_the_first_of_a_clump_waits_for_the_others(scheduler: str) -> None:
    machine = {"hardware": "a100", "model": "llama-3.1-8b", "workload": "code", "kv_blocks": 100_000}
    means = {}
    for arrivals in ("poisson", "gamma(cv=2)"):
        replica, workload = world(**machine, scheduler=scheduler, arrivals=arrivals)
        means[arrivals] = [
            predict(replica, workload, rate_rps=0.2, tier=tier).mean_ttft_s for tier in ("closed", "numeric")
        ]
    closed, numeric = (means["gamma(cv=2)"][k] / means["poisson"][k] for k in (0, 1))
    assert numeric > 1.4
    assert closed == pytest.approx(numeric, rel=0.08)


@pytest.mark.parametrize("scv", [0.05, 0.8, 6.0])
def test_a_passage_is_inverse_gaussian(scv: float) -> None:
    mean = 2.0 * ONE
    law = Mixture(np.ones(1), 0 * ONE, 0 * ONE, mean, mean**2 * (1 + scv), law="passage")
    times_s = np.array([0.3, 1.5, 2.0, 6.0])
    exact = stats.invgauss.cdf(times_s, scv, scale=2.0 / scv)  # mean mu * scale, shape scale
    assert [float(law.within(t)[0]) for t in times_s] == pytest.approx(exact, abs=1e-9)


def test_a_bounded_law_has_its_moments_and_its_bound() -> None:
    law = Mixture(np.ones(1), 0 * ONE, 0 * ONE, 0.5 * ONE, 0.3 * ONE, law="bounded", most=np.array([1.0]))
    exact = stats.beta(2.0, 2.0)  # variance 0.05
    assert float(law.within(0.3)[0]) == pytest.approx(exact.cdf(0.3), abs=1e-6)
    assert float(law.within(1.0)[0]) == 1.0
