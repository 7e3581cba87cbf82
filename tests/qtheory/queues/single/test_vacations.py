"""Vacations and set-ups against simulation and their limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant, Erlang, Exponential, Gamma, Law, Lognormal, Uniform
from qtheory.queues.result import QueueResult
from qtheory.queues.single import MG1, MultipleVacations, SetupQueue, SingleVacation


def simulated(kind: str, rate: float, service: Law, extra: Law, n: int, seed: int) -> np.ndarray:
    """Waits, first come first served, customer by customer."""
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(1 / rate, n)).tolist()
    services = np.asarray(service.sample(rng, n), dtype=float).tolist()
    others = iter(np.asarray(extra.sample(rng, 8 * n), dtype=float).tolist())
    free, waits = 0.0, []
    away = free + next(others) if kind != "setup" else 0.0  # the end of the current vacation
    for arrival, size in zip(arrivals, services, strict=True):
        if arrival > free:  # the server has emptied before
            if kind == "setup":
                start = arrival + next(others)
            else:
                while kind == "multiple" and away < arrival:
                    away += next(others)
                start = max(arrival, away)
        else:
            start = free
        waits.append(start - arrival)
        free = start + size
        if kind != "setup":
            away = free + next(others) if free < 1e300 else 0.0
    return np.array(waits)


MODELS = {"multiple": MultipleVacations, "single": SingleVacation, "setup": SetupQueue}


def solve(kind: str, rate: float, service: Law, extra: Law) -> QueueResult:
    name = "setup" if kind == "setup" else "vacation"
    return MODELS[kind](rate_rps=rate, service=service, **{name: extra}).solve()


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    ("service", "extra"),
    [
        (Exponential(mean=1.0), Constant(value=1.5)),
        (Constant(value=1.0), Constant(value=2.0)),
        (Uniform(low=0.5, high=1.5), Exponential(mean=1.0)),
    ],
    ids=str,
)
def test_means_and_tails_agree_with_simulation(kind: str, service: Law, extra: Law) -> None:
    answer = solve(kind, 0.6, service, extra)
    runs = np.array([simulated(kind, 0.6, service, extra, 25_000, seed)[1000:] for seed in range(16)])
    means = runs.mean(axis=1)
    assert abs(means.mean() - answer.mean_wait_s) < 4 * means.std(ddof=1) / 4
    for t in (0.7, 2.3, 6.1):
        late = (runs > t).mean(axis=1)
        assert abs(late.mean() - float(answer.wait.sf(t))) < 4 * late.std(ddof=1) / 4


@settings(max_examples=25)
@given(st.sampled_from(sorted(MODELS)), st.floats(0.05, 0.9), st.floats(1e-9, 1e9))
def test_the_unit_of_time_does_not_matter(kind: str, load: float, scale: float) -> None:
    service, extra = Erlang(k=2, mean=1.0), Gamma(mean=0.7, cv=0.8)
    one = solve(kind, load, service, extra)
    other = solve(kind, load / scale, service.scaled(scale), extra.scaled(scale))
    assert other.mean_wait_s == pytest.approx(scale * one.mean_wait_s)
    assert other.mean_number == pytest.approx(one.mean_number)
    assert float(other.response.sf(2.0 * scale)) == pytest.approx(float(one.response.sf(2.0)), abs=1e-9)


@pytest.mark.parametrize("kind", MODELS)
def test_short_interruptions_leave_mg1(kind: str) -> None:
    service = Gamma(mean=1.0, cv=0.7)
    answer, plain = (
        solve(kind, 0.7, service, Constant(value=1e-9)),
        MG1(rate_rps=0.7, service=service).solve(),
    )
    assert answer.mean_wait_s == pytest.approx(plain.mean_wait_s, rel=1e-8)
    assert float(answer.response.ppf(0.99)) == pytest.approx(float(plain.response.ppf(0.99)), rel=1e-6)


@pytest.mark.parametrize("kind", MODELS)
def test_the_number_present_has_its_moments(kind: str) -> None:
    answer = solve(kind, 0.5, Exponential(mean=1.0), Uniform(low=0.2, high=1.0))
    n = np.arange(120)
    pmf = np.array([answer.number_pmf(int(k)) for k in n])
    assert pmf.sum() == pytest.approx(1.0, abs=1e-10)
    assert pmf[0] == pytest.approx(answer.prob_empty, abs=1e-10)
    assert pmf @ n == pytest.approx(answer.mean_number, rel=1e-8)
    assert pmf @ n**2 - (pmf @ n) ** 2 == pytest.approx(answer.var_number, rel=1e-7)


def test_mean_and_variance_are_those_of_the_tail() -> None:
    answer = solve("multiple", 0.5, Exponential(mean=1.0), Constant(value=2.0))
    node, weight = np.polynomial.legendre.leggauss(16)
    edges = np.arange(0, 60, 1.0)
    t, w = (edges[:, None] + 0.5 * (1 + node)).ravel(), np.tile(0.5 * weight, edges.size)
    tail = answer.wait.sf(t)
    assert w @ tail == pytest.approx(answer.mean_wait_s, rel=1e-7)
    assert 2 * w @ (t * tail) - (w @ tail) ** 2 == pytest.approx(answer.wait.var_s2, rel=1e-6)


def test_a_constant_service_shifts_the_response() -> None:
    answer = solve("setup", 0.5, Constant(value=1.0), Exponential(mean=0.4))
    assert float(answer.response.ppf(0.9)) == pytest.approx(float(answer.wait.ppf(0.9)) + 1.0)
    assert float(answer.response.sf(0.999)) == 1.0


def test_non_laws_are_named() -> None:
    with pytest.raises(ConfigError, match="vacation: None is not a law"):
        MultipleVacations(rate_rps=1.0, service=Exponential(mean=0.1), vacation=None)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="rate_rps"):
        SetupQueue(rate_rps=0.0, service=Exponential(mean=0.1), setup=Exponential(mean=0.1))


@pytest.mark.parametrize("rate", [1e-6, 0.7, 0.9999])
@pytest.mark.parametrize("law", [Lognormal(mean=1.0, cv=30.0), Exponential(mean=1.0)], ids=str)
def test_broad_vacations_and_hardly_any_load_have_their_formula(rate: float, law: Law) -> None:
    """Pollaczek-Khinchine and the mean excess of a vacation; the law of the number does not object."""
    answer = MultipleVacations(rate_rps=rate, service=law, vacation=law).solve()
    second = law.moment(2)
    wanted = rate * second / (2 * (1 - rate)) + second / 2
    assert answer.mean_wait_s == pytest.approx(wanted, rel=1e-12)
