"""G/M/c: three ways to P(wait)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.laws import Constant, Erlang, Exponential, Gamma, Hyperexponential, Law, Lognormal, Pareto
from qtheory.queues.multi import GMc, MapPhC, MMc
from qtheory.queues.single import GM1
from tests.qtheory.queues.multi.embedded_chain import prob_wait_by_chain
from tests.qtheory.queues.multi.simulated_servers import fcfs_waits_of_servers
from tests.qtheory.queues.simulated import agrees


@settings(max_examples=15)
@given(st.integers(1, 6), st.integers(1, 20), st.floats(0.1, 0.98))
def test_the_sum_and_the_levels_agree(k: int, n_servers: int, rho: float) -> None:
    mean = 1 / (rho * n_servers)
    series = GMc(interval=Erlang(k=k, mean=mean), service_rate_rps=1.0, n_servers=n_servers).solve()
    levels = MapPhC(
        arrivals=Erlang(k=k, mean=mean), service=Exponential(mean=1.0), n_servers=n_servers
    ).solve()
    assert levels.prob_wait == pytest.approx(series.prob_wait, rel=1e-8)
    assert levels.mean_wait_s == pytest.approx(series.mean_wait_s, rel=1e-8)
    assert levels.response.ppf(0.99) == pytest.approx(series.response.ppf(0.99), rel=1e-7)


@pytest.mark.parametrize("n_servers", [1, 2, 7, 40])
@pytest.mark.parametrize(
    "law",
    [Constant(value=1.0), Gamma(mean=1.0, cv=0.8), Lognormal(mean=1.0, cv=2.0), Pareto(alpha=2.5, low=0.6)],
    ids=str,
)
def test_the_sum_and_the_chain_of_the_number_found_agree(law: Law, n_servers: int) -> None:
    for rho in (0.3, 0.9):
        interval = law.scaled(1 / (rho * n_servers * law.mean))
        answer = GMc(interval=interval, service_rate_rps=1.0, n_servers=n_servers).solve()
        chain = prob_wait_by_chain(interval, n_servers, answer.sigma)
        assert answer.prob_wait == pytest.approx(chain, rel=1e-7)


@pytest.mark.parametrize(
    ("n_servers", "wanted"),  # the same sum with 40 digits
    [(1000, 0.00202911709618411682), (10_000, 0.00239985422722221818), (100_000, 0.00252413033178185281)],
)
def test_even_arrivals_at_many_servers_have_all_digits(n_servers: int, wanted: float) -> None:
    interval = Constant(value=1 / (n_servers - 2 * n_servers**0.5))
    answer = GMc(interval=interval, service_rate_rps=1.0, n_servers=n_servers).solve()
    assert answer.prob_wait == pytest.approx(wanted, rel=1e-11)


@pytest.mark.parametrize("rho", [0.97, 1 - 1e-6])
@pytest.mark.parametrize("k", [1, 4])
def test_a_hundred_thousand_servers_by_the_general_sum_are_those_of_phases(k: int, rho: float) -> None:
    mean = 1 / (rho * 100_000)
    series = GMc(interval=Gamma(mean=mean, cv=k**-0.5), service_rate_rps=1.0, n_servers=100_000).solve()
    assert series.prob_wait == pytest.approx(_phase_recursion(k, rho, 100_000), rel=1e-8)


def _phase_recursion(k: int, rho: float, n_servers: int) -> float:
    """P(wait) for Erlang intervals, from the cuts between phases: rate p_m = sum of p_(m+i) min(n, c)."""
    answer = GMc(
        interval=Erlang(k=k, mean=1 / (rho * n_servers)), service_rate_rps=1.0, n_servers=n_servers
    ).solve()
    sigma, rate, top = answer.sigma, k * rho * n_servers, k * n_servers - 1
    spare = answer.prob_wait / answer.mean_wait_s / n_servers
    window = [sigma ** (i / k) for i in range(k)]  # of the states top, top + 1, ...
    below, at_top = 0.0, 1.0
    for m in range(top - 1, -1, -1):
        down = sum(w * min((m + 1 + i) // k, n_servers) for i, w in enumerate(window))
        window = [down / rate, *window[:-1]]
        if m % k == k - 1:
            below += window[0]
        if window[0] > 1e100:
            window, below, at_top = [w * 1e-100 for w in window], below * 1e-100, at_top * 1e-100
    return at_top / spare * sigma / (below + at_top / spare)


def test_intervals_without_a_variance_are_solved() -> None:
    heavy = Pareto(alpha=1.5, low=1 / 3)
    answer = GMc(interval=heavy.scaled(1 / 4.5), service_rate_rps=1.0, n_servers=5).solve()
    chain = prob_wait_by_chain(heavy.scaled(1 / 4.5), 5, answer.sigma)
    assert answer.prob_wait == pytest.approx(chain, rel=1e-5)
    many = GMc(interval=heavy.scaled(1 / 95_000), service_rate_rps=1.0, n_servers=100_000).solve()
    assert 0 < many.prob_wait < 1


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
    with pytest.raises(ConfigError, match="moment 1 is infinite"):
        GMc(interval=Pareto(alpha=1.0, low=1.0), service_rate_rps=1.0, n_servers=2)
