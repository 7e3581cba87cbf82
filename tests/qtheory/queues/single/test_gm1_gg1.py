"""GI/M/1 against simulation, and the two-moment formulas against exact answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.laws import Constant, Erlang, Exponential, Gamma, Hyperexponential, Law, Uniform
from qtheory.queues.single import GG1, GM1, MG1, MM1
from tests.qtheory.queues.simulated import agrees, draws, fcfs_waits

INTERVALS: list[Law] = [
    Constant(value=1.25),
    Erlang(k=3, mean=1.25),
    Uniform(low=0.5, high=2.0),
    Hyperexponential(probs=[0.8, 0.2], means=[0.5, 4.25]),
]


@pytest.mark.parametrize("interval", INTERVALS, ids=str)
def test_waits_agree_with_lindley_simulation(interval: Law) -> None:
    rng = np.random.default_rng(2)
    shape = (60, 12_000)
    waits = fcfs_waits(draws(interval, rng, shape), rng.exponential(1.0, shape), keep_from=2000)
    answer = GM1(interval=interval, service_rate_rps=1.0).solve()
    assert agrees(waits, answer.mean_wait_s)
    assert agrees((waits > 0) * 1.0, answer.prob_wait)
    assert agrees((waits > 5.0) * 1.0, float(answer.wait.sf(5.0)))


@given(st.floats(0.01, 0.9999), st.floats(1e-9, 1e9))
def test_exponential_intervals_give_mm1(load: float, scale: float) -> None:
    general = GM1(interval=Exponential(mean=scale / load), service_rate_rps=1 / scale).solve()
    closed = MM1(rate_rps=load / scale, service_rate_rps=1 / scale).solve()
    assert general.mean_response_s == pytest.approx(closed.mean_response_s, rel=1e-9)
    assert general.var_number == pytest.approx(closed.var_number, rel=1e-8)
    assert general.number_pmf(2) == pytest.approx(closed.number_pmf(2), rel=1e-9)


def test_heavy_traffic_keeps_its_digits() -> None:
    answer = GM1(interval=Constant(value=1 + 1e-6), service_rate_rps=1.0).solve()
    # 1 - sigma is 2 (1 - rho) / (1 + ca2) to first order, with ca2 = 0
    assert answer.sigma == pytest.approx(1 - 2e-6, abs=1e-11)


@given(st.floats(0.05, 0.95), st.floats(0.1, 3.0))
def test_kingman_klb_and_marchal_are_exact_for_poisson_arrivals(load: float, cv: float) -> None:
    exact = MG1(rate_rps=load, service=Gamma(mean=1.0, cv=cv)).solve().mean_wait_s
    for formula in ("kingman", "klb", "marchal", "allen_cunneen"):
        queue = GG1(rate_rps=load, scv_interval=1.0, mean_service_s=1.0, scv_service=cv**2, formula=formula)  # type: ignore[arg-type]
        assert queue.mean_wait_s() == pytest.approx(exact)


@given(st.floats(0.05, 0.97), st.sampled_from(INTERVALS))
def test_bounds_hold_and_daley_is_the_sharper_one(load: float, interval: Law) -> None:
    exact = GM1(interval=interval, service_rate_rps=1 / (load * interval.mean)).solve().mean_wait_s
    given_moments = {
        "rate_rps": 1 / interval.mean,
        "scv_interval": interval.scv,
        "mean_service_s": load * interval.mean,
        "scv_service": 1.0,
    }
    low, sharp, loose = (
        GG1(**given_moments, formula=f).mean_wait_s()  # type: ignore[arg-type]
        for f in ("lower_bound", "daley_bound", "kingman_bound")
    )
    assert low <= exact * (1 + 1e-9)
    assert exact <= sharp * (1 + 1e-9)
    assert sharp <= loose * (1 + 1e-12)


def test_results_say_how_good_they_are() -> None:
    queue = GG1(rate_rps=0.8, scv_interval=0.5, mean_service_s=1.0, scv_service=2.0)
    assert queue.solve().exactness == "approximation"
    bound = GG1(rate_rps=0.8, scv_interval=0.5, mean_service_s=1.0, scv_service=2.0, formula="daley_bound")
    assert bound.solve().exactness == "bound"


def test_nothing_varies_nobody_waits() -> None:
    queue = GG1(rate_rps=0.8, scv_interval=0.0, mean_service_s=1.0, scv_service=0.0)
    assert queue.solve().mean_wait_s == 0.0


def test_bad_names_and_overload_are_refused() -> None:
    with pytest.raises(ConfigError, match="did you mean 'kingman'"):
        GG1(rate_rps=0.8, scv_interval=1.0, mean_service_s=1.0, scv_service=1.0, formula="kingmann")  # type: ignore[arg-type]
    with pytest.raises(UnstableError):
        GG1(rate_rps=1.0, scv_interval=1.0, mean_service_s=1.0, scv_service=1.0).mean_wait_s()
    with pytest.raises(UnstableError, match="lengthen the interval"):
        GM1(interval=Constant(value=1.0), service_rate_rps=1.0).solve()
