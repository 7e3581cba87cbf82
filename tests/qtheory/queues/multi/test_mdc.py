"""M/D/c and E_k/D/c."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import UnstableError
from qtheory.numerics.markov import poisson_below, poisson_pmf, stationary
from qtheory.queues.multi import EkDc, MDc, MMc
from qtheory.queues.multi._walk import _factored, _fall, queue_law
from qtheory.queues.single import MD1
from tests.qtheory.queues.multi.simulated_servers import fcfs_waits_of_servers
from tests.qtheory.queues.simulated import agrees


@pytest.mark.parametrize(("load", "n_servers"), [(0.5, 1), (1.6, 2), (4.75, 5), (57.0, 60)])
def test_spitzers_series_fourier_factors_and_the_chain_give_one_queue(load: float, n_servers: int) -> None:
    law = queue_law(load, n_servers)
    factored = _factored(load, n_servers, _fall(load, n_servers), len(law.pmf), 1 << 14)
    assert law.pmf == pytest.approx(factored, abs=1e-14)
    size = 400  # the queue after one more service time, cut far out
    step = poisson_pmf(np.arange(size) - np.arange(size)[:, None] + n_servers, load)
    step[:, 0] = poisson_below(n_servers + 1 - np.arange(size), load)
    assert law.pmf[:20] == pytest.approx(stationary(step)[:20], rel=1e-9, abs=1e-13)


@settings(max_examples=30)
@given(st.floats(0.02, 0.999), st.floats(1e-9, 1e9))
def test_one_server_is_md1(load: float, c: float) -> None:
    many, one = (
        MDc(rate_rps=load / c, service_s=c, n_servers=1).solve(),
        MD1(rate_rps=load / c, service_s=c).solve(),
    )
    assert many.mean_wait_s == pytest.approx(one.mean_wait_s, rel=1e-9)
    assert many.wait.var_s2 == pytest.approx(one.wait.var_s2, rel=1e-8)
    assert many.wait.ppf([0.5, 0.999]) == pytest.approx(one.wait.ppf([0.5, 0.999]), rel=1e-8)
    assert many.number_pmf(2) == pytest.approx(one.number_pmf(2), rel=1e-8)


@pytest.mark.parametrize("n_servers", [2, 7])
def test_the_law_of_the_wait_agrees_with_a_simulation(n_servers: int) -> None:
    rng = np.random.default_rng(3)
    intervals = rng.exponential(1 / (0.85 * n_servers), (400, 1500))
    waits = fcfs_waits_of_servers(intervals, np.ones((400, 1500)), n_servers)
    answer = MDc(rate_rps=0.85 * n_servers, service_s=1.0, n_servers=n_servers).solve()
    assert agrees(waits, answer.mean_wait_s)
    for t in (0.0, 0.4, 1.3):
        assert agrees(waits > t, float(answer.wait.sf(t)))


@settings(max_examples=8)
@given(st.integers(1, 30), st.floats(0.1, 0.95))
def test_the_law_has_the_moments_that_are_told(n_servers: int, rho: float) -> None:
    answer = MDc(rate_rps=rho * n_servers, service_s=1.0, n_servers=n_servers).solve()
    t = np.linspace(0.0, float(answer.wait.ppf(1 - 1e-10)) + 0.1, 1200)
    tail = answer.wait.sf(t)
    assert np.trapezoid(tail, t) == pytest.approx(answer.mean_wait_s, rel=3e-3, abs=1e-6)
    assert 2 * np.trapezoid(t * tail, t) == pytest.approx(
        answer.wait.var_s2 + answer.mean_wait_s**2, rel=1e-2, abs=1e-7
    )
    total = sum(answer.number_pmf(n) for n in range(int(40 * n_servers + 60 / (1 - rho))))
    assert total == pytest.approx(1.0, abs=1e-8)
    assert answer.mean_number == pytest.approx(rho * n_servers * answer.mean_response_s, rel=1e-12)


def test_erlang_intervals_have_the_wait_of_more_servers() -> None:
    erlang = EkDc(rate_rps=1.7, k=3, service_s=1.0, n_servers=2).solve()
    poisson = MDc(rate_rps=5.1, service_s=1.0, n_servers=6).solve()
    assert erlang.wait.ppf([0.9, 0.99]).tolist() == poisson.wait.ppf([0.9, 0.99]).tolist()
    rng = np.random.default_rng(4)
    intervals = rng.gamma(3, 1 / 5.1, (300, 1500))
    assert agrees(fcfs_waits_of_servers(intervals, np.ones((300, 1500)), 2), erlang.mean_wait_s)


@pytest.mark.parametrize("n_servers", [1, 100, 10_000, 100_000])
def test_half_the_variability_waits_half_as_long_near_saturation(n_servers: int) -> None:
    rate = n_servers * (1 - 1e-6)
    constant = MDc(rate_rps=rate, service_s=1.0, n_servers=n_servers).solve()
    exponential = MMc(rate_rps=rate, service_rate_rps=1.0, n_servers=n_servers).solve()
    assert constant.mean_wait_s / exponential.mean_wait_s == pytest.approx(0.5, rel=1e-3)
    assert float(constant.wait.ppf(0.5)) == pytest.approx(np.log(2) * constant.mean_wait_s, rel=1e-3)


def test_a_load_of_all_servers_is_refused() -> None:
    with pytest.raises(UnstableError, match="n_servers=4"):
        MDc(rate_rps=4.0, service_s=1.0, n_servers=4).solve()
    with pytest.raises(UnstableError, match="n_servers=1"):
        EkDc(rate_rps=1.0, k=2, service_s=1.0).solve()
