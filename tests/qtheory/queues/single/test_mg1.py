"""M/G/1: closed forms, transform against simulation, limits, scaling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, ConvergenceError, UnstableError
from qtheory.laws import (
    Constant,
    Discrete,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    Law,
    Lognormal,
    Pareto,
    Uniform,
    Weibull,
)
from qtheory.queues.single import MD1, MG1, MM1, MEk1, MHk1
from qtheory.queues.single.workload import Workload
from tests.qtheory.queues.simulated import agrees, draws, fcfs_waits, poisson_intervals

LAWS: list[Law] = [
    Exponential(mean=1.0),
    Gamma(mean=1.0, cv=1.6),
    Lognormal(mean=1.0, cv=2.0),
    Uniform(low=0.2, high=1.8),
    Weibull(shape=1.5, scale=1.0),
    Discrete(values=[0.5, 3.0], probs=[0.8, 0.2]),
    Erlang(k=30, mean=1.0),
]


@settings(max_examples=30)
@given(st.floats(0.01, 0.98), st.floats(1e-9, 1e9))
def test_exponential_service_gives_mm1(load: float, scale: float) -> None:
    general = MG1(rate_rps=load / scale, service=Exponential(mean=scale)).solve()
    closed = MM1(rate_rps=load / scale, service_rate_rps=1 / scale).solve()
    assert general.mean_wait_s == pytest.approx(closed.mean_wait_s)
    assert general.wait.var_s2 == pytest.approx(closed.wait.var_s2)
    assert general.response.ppf([0.5, 0.99]) == pytest.approx(closed.response.ppf([0.5, 0.99]), rel=1e-8)
    assert general.wait.ppf([0.5, 0.999]) == pytest.approx(closed.wait.ppf([0.5, 0.999]), rel=1e-6)
    assert general.number_pmf(3) == pytest.approx(closed.number_pmf(3), abs=1e-11)
    assert general.var_busy_period_s2 == pytest.approx(closed.var_busy_period_s2)


def test_constant_service_gives_md1_to_the_last_digit() -> None:
    general = MG1(rate_rps=8.0, service=Constant(value=0.1)).solve()
    closed = MD1(rate_rps=8.0, service_s=0.1).solve()
    assert general.wait.ppf([0.5, 0.99]).tolist() == closed.wait.ppf([0.5, 0.99]).tolist()


@settings(max_examples=30)
@given(st.integers(1, 40), st.floats(0.05, 0.99))
def test_erlang_service_agrees_with_the_sum_of_exponentials(k: int, load: float) -> None:
    by_poles = MEk1(rate_rps=load, n_phases=k, mean_service_s=1.0).solve()
    by_inversion = MG1(rate_rps=load, service=Erlang(k=k, mean=1.0)).solve()
    t = np.array([0.3, 1.0, 3.0]) * by_poles.mean_response_s
    assert by_inversion.wait.sf(t) == pytest.approx(by_poles.wait.sf(t), abs=1e-8)
    assert by_inversion.response.sf(t) == pytest.approx(by_poles.response.sf(t), abs=1e-8)
    assert by_poles.wait.var_s2 == pytest.approx(by_inversion.wait.var_s2, rel=1e-7)


@settings(max_examples=30)
@given(st.floats(0.02, 0.98), st.floats(0.05, 0.95), st.floats(1.5, 30.0))
def test_hyperexponential_service_agrees_with_the_mixture(load: float, p: float, ratio: float) -> None:
    means = [1.0, ratio]
    law = Hyperexponential(probs=[p, 1 - p], means=means)
    rate = load / law.mean
    by_poles = MHk1(rate_rps=rate, probs=[p, 1 - p], service_rates_rps=[1.0, 1 / ratio]).solve()
    by_inversion = MG1(rate_rps=rate, service=law).solve()
    t = np.array([0.3, 1.0, 3.0]) * by_poles.mean_response_s
    assert by_inversion.wait.sf(t) == pytest.approx(by_poles.wait.sf(t), abs=1e-8)
    assert by_poles.response.mean_s == pytest.approx(by_poles.mean_response_s, rel=1e-9)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_laws_agree_with_lindley_simulation(law: Law) -> None:
    rng = np.random.default_rng(11)
    rate, shape = 0.7, (100, 12_000)
    services = draws(law, rng, shape)
    waits = fcfs_waits(poisson_intervals(rng, rate, shape), services, keep_from=2000)
    responses = waits + services[:, 2000:]
    answer = MG1(rate_rps=rate, service=law).solve()
    assert agrees(waits, answer.mean_wait_s)
    for q in (0.5, 0.9, 0.99):
        assert agrees((waits <= float(answer.wait.ppf(q))) * 1.0, max(q, 1 - answer.prob_wait))
        assert agrees(
            (responses > float(answer.response.ppf(q)) * 1.0000001) * 1.0,
            float(answer.response.sf(answer.response.ppf(q))),
        )


@pytest.mark.parametrize("law", [*LAWS, Pareto(alpha=3.5, low=0.5, high=200.0)], ids=str)
@pytest.mark.parametrize("load", [1e-6, 0.5, 0.99, 1 - 1e-6])
def test_the_mean_of_the_tail_is_the_closed_form(law: Law, load: float) -> None:
    answer = MG1(rate_rps=load / law.mean, service=law).solve()
    s = np.array([1e-7 + 0j]) / answer.mean_response_s
    tail = answer.wait.tail_lst(s)[0].real  # the transform at 0, known parts taken out
    if answer.wait.known_tail is not None:
        x = np.linspace(0, law.support[1], 20_001)
        tail += np.trapezoid(answer.wait.known_tail(x), x)
    assert tail == pytest.approx(answer.mean_wait_s, rel=1e-4)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_heavy_traffic_is_exponential(law: Law) -> None:
    answer = MG1(rate_rps=(1 - 1e-6) / law.mean, service=law).solve()
    assert float(answer.response.ppf(0.99)) == pytest.approx(answer.mean_wait_s * np.log(100), rel=2e-5)


def test_percentiles_in_the_far_tail_keep_their_digits() -> None:
    answer = MG1(rate_rps=0.5, service=Gamma(mean=1.0, cv=1.0)).solve()  # M/M/1 in disguise
    assert float(answer.response.ppf(1 - 1e-12)) == pytest.approx(2 * np.log(1e12), rel=1e-4)
    assert answer.response.sf([50.0, 200.0]) == pytest.approx(np.exp([-25.0, -100.0]), rel=1e-6)


def test_far_percentiles_of_a_heavy_tail_are_refused_not_guessed() -> None:
    answer = MG1(rate_rps=0.5, service=Lognormal(mean=1.0, cv=2.0)).solve()
    with pytest.raises(ConvergenceError, match="lower percentile"):
        answer.wait.ppf(1 - 1e-12)


@settings(max_examples=30)
@given(st.floats(0.05, 0.9), st.sampled_from(LAWS))
def test_more_load_waits_longer(load: float, law: Law) -> None:
    low, high = (MG1(rate_rps=r / law.mean, service=law).solve() for r in (load, load * 1.08))
    assert high.mean_wait_s > low.mean_wait_s
    assert float(high.response.ppf(0.9)) > float(low.response.ppf(0.9)) * (1 - 1e-9)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_number_present_has_its_moments(law: Law) -> None:
    answer = MG1(rate_rps=0.6 / law.mean, service=law).solve()
    n = np.arange(600)
    pmf = np.array([answer.number_pmf(int(k)) for k in n[:120]])
    assert pmf.min() > -1e-12
    assert pmf[0] == pytest.approx(0.4, abs=1e-10)
    if law.scv <= 1:
        assert pmf.sum() == pytest.approx(1.0, abs=1e-9)
        assert pmf @ n[:120] == pytest.approx(answer.mean_number, rel=1e-7)
        assert pmf @ n[:120] ** 2 - answer.mean_number**2 == pytest.approx(answer.var_number, rel=1e-6)


def test_an_infinite_third_moment_leaves_mean_and_percentiles() -> None:
    answer = MG1(rate_rps=0.3, service=Pareto(alpha=2.5, low=0.6)).solve()
    assert answer.mean_wait_s > 0
    assert answer.var_number is None
    assert 0 < float(answer.wait.ppf(0.9)) < float(answer.wait.ppf(0.99))
    with pytest.raises(ConfigError, match="third moment"):
        _ = answer.wait.var_s2


def test_an_infinite_second_moment_is_named() -> None:
    with pytest.raises(ConfigError, match="moment 2 is infinite"):
        MG1(rate_rps=0.3, service=Pareto(alpha=1.5, low=0.3)).solve()


def test_overload_and_non_laws_are_refused() -> None:
    with pytest.raises(UnstableError, match="lower the rate or shorten the service"):
        MG1(rate_rps=1.0, service=Exponential(mean=1.0)).solve()
    with pytest.raises(ConfigError, match=r"service: 0\.1 is not a law"):
        MG1(rate_rps=1.0, service=0.1)  # type: ignore[arg-type]


@pytest.mark.parametrize("load", [1e-4, 0.01, 0.05, 0.3, 0.9, 1 - 1e-6])
def test_far_percentiles_at_any_load_are_those_of_the_closed_forms(load: float) -> None:
    mixed = MHk1(rate_rps=load / 0.5, probs=[0.8, 0.2], service_rates_rps=[3.2, 0.8]).solve()
    service = Hyperexponential(probs=[0.8, 0.2], means=[1 / 3.2, 1 / 0.8])
    general = MG1(rate_rps=load / 0.5, service=service).solve()
    erlang = MEk1(rate_rps=load, n_phases=4, mean_service_s=1.0).solve()
    gamma = MG1(rate_rps=load, service=Gamma(mean=1.0, cv=0.5)).solve()
    for level in (0.9, 0.99, 0.999):
        assert general.response.ppf(level) == pytest.approx(float(mixed.response.ppf(level)), rel=1e-8)
        assert gamma.response.ppf(level) == pytest.approx(float(erlang.response.ppf(level)), rel=1e-8)


@pytest.mark.parametrize(
    ("service", "end_per_s"),
    [
        (Exponential(mean=2.0), 0.5),
        (Gamma(mean=1.0, cv=0.5), 4.0),
        (Gamma(mean=1.0, cv=3.0), 1 / 9),
        (Hyperexponential(probs=[0.999, 0.001], means=[0.1, 50.0]), 0.02),
    ],
    ids=str,
)
@pytest.mark.parametrize("load", [1e-9, 1e-4, 0.1, 0.9, 1 - 1e-6])
def test_the_decay_is_a_root_below_the_end_of_the_transform(
    service: Law, end_per_s: float, load: float
) -> None:
    rate = load / service.mean
    decay = Workload(rate_rps=rate, service=service).decay_per_s()
    assert 0 < decay < end_per_s
    short, long = ((service.lst(-c * decay) - 1) * rate - c * decay for c in (0.999, 1.0001))
    assert short < 0
    assert 1.0001 * decay > end_per_s or long > 0
