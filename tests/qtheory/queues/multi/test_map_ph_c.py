"""MAP/PH/c: against Pollaczek-Khinchine, against simulation, near saturation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, ConvergenceError, UnstableError
from qtheory.laws import Constant, Erlang, Exponential, Hyperexponential, Law
from qtheory.laws.map_process import MarkovianArrivals
from qtheory.laws.phase_type import Coxian, PhaseType
from qtheory.queues.multi import MapPhC, MMc
from qtheory.queues.single import MG1
from tests.qtheory.queues.multi.simulated_servers import fcfs_waits_of_servers
from tests.qtheory.queues.simulated import agrees

SERVICES: list[Law] = [
    Erlang(k=3, mean=1.0),
    Hyperexponential(probs=[0.8, 0.2], means=[0.5, 3.0]),
    Coxian(phase_rates=[3.0, 1.0, 0.7], go_on=[0.6, 0.4]),
]


@pytest.mark.parametrize("service", SERVICES, ids=str)
@pytest.mark.parametrize("load", [0.3, 0.95, 1 - 1e-6])
def test_poisson_arrivals_at_one_server_are_pollaczek_khinchine(service: Law, load: float) -> None:
    levels = MapPhC(arrivals=Exponential(mean=service.mean / load), service=service).solve()
    closed = MG1(rate_rps=load / service.mean, service=service).solve()
    assert levels.mean_wait_s == pytest.approx(closed.mean_wait_s, rel=1e-8)
    assert levels.wait.var_s2 == pytest.approx(closed.wait.var_s2, rel=1e-7)
    assert levels.wait.ppf([0.8, 0.99]) == pytest.approx(closed.wait.ppf([0.8, 0.99]), rel=1e-6, abs=1e-9)
    assert levels.response.ppf([0.5, 0.99]) == pytest.approx(closed.response.ppf([0.5, 0.99]), rel=1e-6)


@settings(max_examples=15)
@given(st.integers(1, 40), st.floats(0.02, 0.999), st.floats(1e-9, 1e9))
def test_exponentials_are_mmc(n_servers: int, rho: float, c: float) -> None:
    levels = MapPhC(
        arrivals=Exponential(mean=c / (rho * n_servers)), service=Exponential(mean=c), n_servers=n_servers
    ).solve()
    closed = MMc(rate_rps=rho * n_servers / c, service_rate_rps=1 / c, n_servers=n_servers).solve()
    assert levels.mean_wait_s == pytest.approx(closed.mean_wait_s, rel=1e-7, abs=1e-14 * c)
    assert levels.response.ppf([0.5, 0.99]) == pytest.approx(closed.response.ppf([0.5, 0.99]), rel=1e-7)
    assert levels.caudal_characteristic == pytest.approx(rho, rel=1e-9)
    assert levels.number_pmf(n_servers + 2) == pytest.approx(
        closed.number_pmf(n_servers + 2), rel=1e-7, abs=1e-14
    )


@pytest.mark.parametrize("n_servers", [1, 3])
def test_modulated_arrivals_agree_with_a_simulation(n_servers: int) -> None:
    process = MarkovianArrivals.modulated_poisson(rates_rps=[0.3, 1.4], leave_per_s=[0.2, 0.3])
    service = Erlang(k=2, mean=1.1 * n_servers)
    answer = MapPhC(arrivals=process, service=service, n_servers=n_servers).solve()
    rng = np.random.default_rng(8)
    intervals = np.array([process.sample(rng, 1500) for _ in range(60)])
    services = np.asarray(service.sample(rng, intervals.shape))
    waits = fcfs_waits_of_servers(intervals, services, n_servers)
    assert agrees(waits, answer.mean_wait_s)
    for t in (0.0, 1.0, 6.0):
        assert agrees(waits > t, float(answer.wait.sf(t)))
    late = waits + services[:, 150:]
    assert agrees(late > 5.0, float(answer.response.sf(5.0)))


@settings(max_examples=10)
@given(st.sampled_from(SERVICES), st.integers(1, 6), st.floats(0.05, 0.97))
def test_numbers_and_laws_fit_together(service: Law, n_servers: int, rho: float) -> None:
    process = MarkovianArrivals(without=[[-2.0, 0.5], [0.1, -0.6]], with_arrival=[[1.3, 0.2], [0.1, 0.4]])
    scaled = process.scaled(process.rate_rps * service.mean / (rho * n_servers))
    answer = MapPhC(arrivals=scaled, service=service, n_servers=n_servers).solve()
    assert answer.wait.mean_s == pytest.approx(answer.mean_wait_s, rel=1e-7, abs=1e-12)
    assert answer.response.mean_s == pytest.approx(answer.mean_response_s, rel=1e-8)
    assert answer.response.var_s2 == pytest.approx(answer.wait.var_s2 + service.var, rel=1e-7)
    n_most = n_servers + math.ceil(math.log(1e-11) / math.log(answer.caudal_characteristic)) + 5
    numbers = np.array([answer.number_pmf(n) for n in range(min(n_most, 1500))])
    assert numbers.min() >= 0
    assert numbers.sum() == pytest.approx(1.0, abs=1e-8)
    assert numbers @ np.arange(len(numbers)) == pytest.approx(answer.mean_number, rel=1e-6)


def test_what_has_no_phases_or_too_many_is_refused() -> None:
    with pytest.raises(ConfigError, match="not made of exponential phases"):
        MapPhC(arrivals=Exponential(mean=1.0), service=Constant(value=0.5))
    with pytest.raises(ConfigError, match="arrivals"):
        MapPhC(arrivals=2.0, service=Exponential(mean=1.0))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="zero with a positive probability"):
        MapPhC(arrivals=Exponential(mean=1.0), service=PhaseType(start=[0.5], rates=[[-1.0]]))
    with pytest.raises(ConvergenceError, match="states a level"):
        MapPhC(arrivals=Exponential(mean=1.0), service=Erlang(k=8, mean=9.0), n_servers=20).solve()
    with pytest.raises(UnstableError, match="n_servers=2"):
        MapPhC(arrivals=Exponential(mean=1.0), service=Erlang(k=2, mean=2.0), n_servers=2).solve()
