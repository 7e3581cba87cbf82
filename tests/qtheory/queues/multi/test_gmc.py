"""G/M/c: three ways to P(wait)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConvergenceError, UnstableError
from qtheory.laws import Constant, Erlang, Exponential, Gamma, Hyperexponential, Lognormal
from qtheory.queues.multi import GMc, MapPhC, MMc
from qtheory.queues.single import GM1
from tests.qtheory.queues.multi.simulated_servers import fcfs_waits_of_servers
from tests.qtheory.queues.simulated import agrees


@settings(max_examples=15)
@given(st.integers(1, 6), st.integers(1, 20), st.floats(0.1, 0.98))
def test_phases_quadrature_and_levels_agree(k: int, n_servers: int, rho: float) -> None:
    mean = 1 / (rho * n_servers)
    phases = GMc(interval=Erlang(k=k, mean=mean), service_rate_rps=1.0, n_servers=n_servers).solve()
    points = GMc(interval=Gamma(mean=mean, cv=k**-0.5), service_rate_rps=1.0, n_servers=n_servers).solve()
    levels = MapPhC(
        arrivals=Erlang(k=k, mean=mean), service=Exponential(mean=1.0), n_servers=n_servers
    ).solve()
    assert points.prob_wait == pytest.approx(phases.prob_wait, rel=1e-8)
    assert levels.prob_wait == pytest.approx(phases.prob_wait, rel=1e-8)
    assert levels.mean_wait_s == pytest.approx(phases.mean_wait_s, rel=1e-8)
    assert levels.response.ppf(0.99) == pytest.approx(phases.response.ppf(0.99), rel=1e-7)


@given(st.integers(1, 3000), st.floats(0.01, 0.999), st.floats(1e-9, 1e9))
@settings(max_examples=20)
def test_exponential_intervals_are_mmc(n_servers: int, rho: float, c: float) -> None:
    general = GMc(
        interval=Exponential(mean=c / (rho * n_servers)), service_rate_rps=1 / c, n_servers=n_servers
    ).solve()
    closed = MMc(rate_rps=rho * n_servers / c, service_rate_rps=1 / c, n_servers=n_servers).solve()
    assert general.prob_wait == pytest.approx(closed.prob_wait, rel=1e-8)
    assert general.mean_response_s == pytest.approx(closed.mean_response_s, rel=1e-9)


@pytest.mark.parametrize("interval", [Constant(value=1.2), Lognormal(mean=1.2, cv=1.5)])
def test_one_server_is_gm1(interval: Constant | Lognormal) -> None:
    many = GMc(interval=interval, service_rate_rps=1.0, n_servers=1).solve()
    one = GM1(interval=interval, service_rate_rps=1.0).solve()
    assert many.prob_wait == pytest.approx(one.prob_wait, rel=1e-9)
    assert many.sigma == pytest.approx(one.sigma, rel=1e-9)


@pytest.mark.parametrize(
    "interval", [Constant(value=0.25), Hyperexponential(probs=[0.8, 0.2], means=[0.15, 0.65])]
)
def test_the_wait_agrees_with_a_simulation(interval: Constant | Hyperexponential) -> None:
    rng = np.random.default_rng(6)
    intervals = np.asarray(interval.sample(rng, (300, 1500)))
    waits = fcfs_waits_of_servers(intervals, rng.exponential(1.0, (300, 1500)), 5)
    answer = GMc(interval=interval, service_rate_rps=1.0, n_servers=5).solve()
    assert agrees(waits, answer.mean_wait_s)
    assert agrees(waits > 0, answer.prob_wait)
    assert agrees(waits > 0.5, float(answer.wait.sf(0.5)))


def test_even_arrivals_wait_less_the_more_servers_there_are() -> None:
    waits = [
        GMc(interval=Constant(value=1 / (0.9 * c)), service_rate_rps=1.0, n_servers=c).solve().prob_wait
        for c in (1, 4, 16, 64, 1024)
    ]
    assert waits == sorted(waits, reverse=True)
    assert 0 < waits[-1] < 1e-3


def test_light_load_keeps_relative_digits() -> None:
    answer = GMc(interval=Erlang(k=2, mean=1e6), service_rate_rps=1.0, n_servers=1).solve()
    assert answer.prob_wait == pytest.approx(4e-12, rel=1e-5)  # (1 + mu E[A] / 2)^-2


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UnstableError, match="n_servers=2"):
        GMc(interval=Constant(value=0.5), service_rate_rps=1.0, n_servers=2).solve()
    with pytest.raises(ConvergenceError, match="Erlang"):
        GMc(interval=Gamma(mean=1 / 1900, cv=0.8), service_rate_rps=1.0, n_servers=2000).solve()
    assert math.isfinite(
        GMc(interval=Erlang(k=2, mean=1 / 1900), service_rate_rps=1.0, n_servers=2000).solve().sigma
    )
