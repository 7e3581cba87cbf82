"""Batch servers: chain against transform, formula against simulation, limits, scaling, refusals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, ConvergenceError, UnstableError
from qtheory.laws import Discrete, Exponential, Gamma, Lognormal, Pareto, Uniform
from qtheory.numerics.inversion import invert_laplace
from qtheory.queues.batch import AffineService, BatchQueue, LongestMemberService, MMb1, UnlimitedBatchQueue
from qtheory.queues.batch._chain import solve_starts
from qtheory.queues.batch._launch import Launch
from qtheory.queues.batch._transform import TransformBatchLaws
from qtheory.queues.single import MD1, MG1
from tests.qtheory.queues.batch.simulated_batches import simulated_batches
from tests.qtheory.queues.simulated import agrees

AFFINE = AffineService(base_s=0.05, slope_s=0.01)
SPREAD = AffineService(base_s=0.05, slope_s=0.01, scv=0.6)
LONGEST = LongestMemberService(length=Exponential(mean=0.05), unit_s=1.0, base_s=0.02, slope_s=0.002)
LISTED = LongestMemberService(length=Discrete(values=[1, 4, 9], probs=[0.5, 0.3, 0.2]), unit_s=0.02)

CASES: list[dict[str, Any]] = [
    {"service": AFFINE, "rate_rps": 45.0, "max_batch": 8},
    {"service": AFFINE, "rate_rps": 30.0, "max_batch": 3},
    {"service": SPREAD, "rate_rps": 45.0, "max_batch": 6},
    {"service": LONGEST, "rate_rps": 25.0, "max_batch": 5},
    {"service": LISTED, "rate_rps": 12.0, "max_batch": 4, "min_batch": 2},
    {"service": lambda size: Uniform(low=0.05, high=0.1 * (1 + size)), "rate_rps": 6.0, "max_batch": 3},
    {"service": AFFINE, "rate_rps": 40.0, "max_batch": 8, "min_batch": 4},
    {"service": AFFINE, "rate_rps": 40.0, "max_batch": 6, "min_batch": 6, "timeout_s": 0.08},
    {"service": SPREAD, "rate_rps": 30.0, "max_batch": 4, "min_batch": 4},
    {"service": SPREAD, "rate_rps": 30.0, "max_batch": 8, "min_batch": 5, "timeout_s": 0.06},
]


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_means_and_tails_agree_with_a_simulation(case: dict[str, Any]) -> None:
    answer = BatchQueue(**case).solve()
    waits, responses = simulated_batches(np.random.default_rng(5), **case)
    assert agrees(waits, answer.mean_wait_s)
    assert agrees(responses, answer.mean_response_s)
    assert agrees(waits > 1e-9, answer.prob_wait)
    for q in (0.3, 0.9, 0.99):
        wait_s, response_s = float(answer.wait.ppf(q)), float(answer.response.ppf(q))
        assert agrees(waits > 1.0001 * wait_s + 1e-9, float(answer.wait.sf(1.0001 * wait_s)))
        assert agrees(responses > 1.0001 * response_s, float(answer.response.sf(1.0001 * response_s)))


@pytest.mark.parametrize(("rate", "max_batch"), [(10.0, 1), (35.0, 4), (50.0, 9)])
def test_closed_forms_of_constant_services_have_the_transforms_of_the_recursion(
    rate: float, max_batch: int
) -> None:
    answer = BatchQueue(rate_rps=rate, service=AFFINE, max_batch=max_batch).solve()
    launch = Launch(rate_rps=rate, least=1)
    starts = solve_starts([AFFINE(size) for size in range(1, max_batch + 1)], launch, max_states=4000)
    found = TransformBatchLaws(starts, launch)
    t = np.array([0.0217, 0.1131, 0.2573])  # off the kinks, whose inversion takes many terms
    for law, lst in ((answer.wait, found.wait_lst), (answer.response, found.response_lst)):
        tail = invert_laplace(lambda s, lst=lst: (1 - lst(s)) / s, t, tol=1e-7, worst=1e-4, max_terms=768)
        assert law.sf(t) == pytest.approx(tail, abs=1e-4)


@pytest.mark.parametrize("rate", [3.0, 16.0])
def test_batches_of_one_are_the_single_server(rate: float) -> None:
    constant = BatchQueue(rate_rps=rate, service=AFFINE, max_batch=1).solve()
    md1 = MD1(rate_rps=rate, service_s=0.06).solve()
    assert constant.mean_wait_s == pytest.approx(md1.mean_wait_s, rel=1e-12)
    assert constant.wait.var_s2 == pytest.approx(md1.wait.var_s2, rel=1e-10)
    assert constant.wait.ppf([0.5, 0.999]) == pytest.approx(md1.wait.ppf([0.5, 0.999]), rel=1e-9)
    spread = BatchQueue(rate_rps=rate, service=SPREAD, max_batch=1).solve()
    mg1 = MG1(rate_rps=rate, service=Gamma(mean=0.06, cv=math.sqrt(0.6))).solve()
    assert spread.response.ppf([0.5, 0.99]) == pytest.approx(mg1.response.ppf([0.5, 0.99]), rel=1e-8)
    assert spread.response.var_s2 == pytest.approx(mg1.response.var_s2, rel=1e-8)


@settings(max_examples=10)
@given(st.floats(0.02, 0.98), st.integers(1, 12))
def test_an_exponential_service_of_any_batch_has_the_geometric_solution(load: float, max_batch: int) -> None:
    service = AffineService(base_s=0.5, slope_s=0.0, scv=1.0)
    chain = BatchQueue(rate_rps=2 * load * max_batch, service=service, max_batch=max_batch).solve()
    closed = MMb1(rate_rps=2 * load * max_batch, service_rate_rps=2.0, max_batch=max_batch).solve()
    assert chain.mean_wait_s == pytest.approx(closed.mean_wait_s, rel=1e-9)
    assert chain.mean_batch_seen == pytest.approx(closed.mean_batch_seen, rel=1e-9)
    assert chain.batch_pmf(max_batch) == pytest.approx(closed.batch_pmf(max_batch), rel=1e-7)
    assert chain.response.ppf([0.2, 0.99]) == pytest.approx(closed.response.ppf([0.2, 0.99]), rel=1e-7)
    assert chain.wait.var_s2 == pytest.approx(closed.wait.var_s2, rel=1e-7)


@pytest.mark.parametrize("max_batch", [12, 24])
def test_elimination_and_roots_give_one_law(max_batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = BatchQueue(rate_rps=60.0, service=SPREAD, max_batch=max_batch, min_batch=3, timeout_s=0.1)
    eliminated = queue.solve()
    monkeypatch.setattr("qtheory.queues.batch._chain._ELIMINATED", 0)
    rooted = queue.solve()
    assert rooted.mean_wait_s == pytest.approx(eliminated.mean_wait_s, rel=1e-9)
    assert rooted.mean_batch_seen == pytest.approx(eliminated.mean_batch_seen, rel=1e-9)
    assert rooted.wait.ppf(0.99) == pytest.approx(eliminated.wait.ppf(0.99), rel=1e-7)


def test_a_limit_that_never_binds_is_no_limit() -> None:
    limited = BatchQueue(rate_rps=20.0, service=AFFINE, max_batch=90).solve()
    free = UnlimitedBatchQueue(rate_rps=20.0, base_s=0.05, slope_s=0.01).solve()
    assert limited.mean_response_s == pytest.approx(free.mean_response_s, rel=1e-10)
    assert limited.response.ppf([0.1, 0.999]) == pytest.approx(free.response.ppf([0.1, 0.999]), rel=1e-9)
    assert limited.response.var_s2 == pytest.approx(free.response.var_s2, rel=1e-9)


def test_a_short_timer_is_the_greedy_rule_and_a_long_one_no_timer() -> None:
    common = {"rate_rps": 40.0, "service": AFFINE, "max_batch": 6}
    greedy = BatchQueue(**common).solve()
    short = BatchQueue(**common, min_batch=4, timeout_s=1e-9).solve()
    assert short.mean_response_s == pytest.approx(greedy.mean_response_s, rel=1e-7)
    assert short.response.ppf(0.9) == pytest.approx(greedy.response.ppf(0.9), rel=1e-6)
    patient = BatchQueue(**common, min_batch=4).solve()
    long = BatchQueue(**common, min_batch=4, timeout_s=50.0).solve()
    assert long.mean_wait_s == pytest.approx(patient.mean_wait_s, rel=1e-9)
    assert long.wait.ppf(0.9) == pytest.approx(patient.wait.ppf(0.9), rel=1e-8)


@settings(max_examples=20)
@given(st.floats(0.05, 0.95), st.integers(2, 8))
def test_full_batches_are_full_and_keep_the_server_busy_for_their_share(load: float, size: int) -> None:
    queue = BatchQueue(rate_rps=1.0, service=AFFINE, max_batch=size, min_batch=size)
    answer = BatchQueue(
        rate_rps=load * queue.capacity_rps, service=AFFINE, max_batch=size, min_batch=size
    ).solve()
    assert answer.mean_batch_size == pytest.approx(size, rel=1e-12)
    assert answer.utilization_frac == pytest.approx(load, rel=1e-10)
    assert answer.prob_server_idle + answer.utilization_frac == pytest.approx(1.0)


@settings(max_examples=20)
@given(st.floats(1e-9, 1e9), st.floats(0.05, 0.97), st.integers(1, 10), st.sampled_from([0.0, 0.6]))
def test_seconds_or_other_units_give_the_same_physics(
    c: float, load: float, max_batch: int, scv: float
) -> None:
    def queue(unit: float) -> BatchQueue:
        service = AffineService(base_s=0.5 * unit, slope_s=0.1 * unit, scv=scv)
        rate = load * max_batch / (0.5 + 0.1 * max_batch) / unit
        return BatchQueue(rate_rps=rate, service=service, max_batch=max_batch)

    plain, scaled = queue(1.0).solve(), queue(c).solve()
    assert scaled.mean_wait_s == pytest.approx(c * plain.mean_wait_s, rel=1e-9)
    assert scaled.response.ppf(0.9) == pytest.approx(c * float(plain.response.ppf(0.9)), rel=1e-7)
    assert scaled.wait.var_s2 == pytest.approx(c * c * plain.wait.var_s2, rel=1e-6)


@settings(max_examples=20)
@given(st.lists(st.floats(0.01, 0.98), min_size=2, max_size=2, unique=True), st.integers(1, 20))
def test_more_arrivals_never_shorten_the_greedy_wait(loads: list[float], max_batch: int) -> None:
    capacity = max_batch / (0.05 + 0.01 * max_batch)
    low, high = sorted(loads)
    waits = [
        BatchQueue(rate_rps=load * capacity, service=AFFINE, max_batch=max_batch).solve().mean_wait_s
        for load in (low, high)
    ]
    assert waits[0] <= waits[1] * (1 + 1e-9)


@settings(max_examples=8)
@given(st.floats(0.05, 0.95), st.integers(1, 12))
def test_the_laws_have_the_means_and_variances_that_are_told(load: float, max_batch: int) -> None:
    rate = load * max_batch / (0.05 + 0.01 * max_batch)
    answer = BatchQueue(rate_rps=rate, service=AFFINE, max_batch=max_batch).solve()
    for law in (answer.wait, answer.response):
        end = float(law.ppf(1 - 1e-9)) + 1e-3
        t = np.linspace(0.0, end, 1501)
        tail = law.sf(t)
        assert np.trapezoid(tail, t) == pytest.approx(law.mean_s, rel=4e-3, abs=4e-4)
        assert 2 * np.trapezoid(t * tail, t) - law.mean_s**2 == pytest.approx(law.var_s2, rel=2e-2, abs=4e-5)
        assert np.all(np.diff(tail) <= 1e-11)
    assert sum(answer.batch_pmf(k) for k in range(1, max_batch + 1)) == pytest.approx(1.0)


@pytest.mark.parametrize("scv", [0.0, 0.7])
def test_heavy_traffic_makes_the_wait_exponential(scv: float) -> None:
    service = AffineService(base_s=0.05, slope_s=0.01, scv=scv)
    rate = (1 - 1e-6) * 16 / 0.21
    answer = BatchQueue(rate_rps=rate, service=service, max_batch=16).solve()
    assert float(answer.wait.ppf(0.5)) == pytest.approx(math.log(2) * answer.mean_wait_s, rel=1e-4)
    assert answer.wait.var_s2 == pytest.approx(answer.mean_wait_s**2, rel=1e-4)
    arrivals = rate * 0.21  # second moments of A - b: variance of the steps of the queue of batches
    spread = arrivals + scv * arrivals**2
    assert answer.mean_queue == pytest.approx(spread / (2 * (16 - arrivals)), rel=1e-4)


def test_without_load_a_customer_is_served_alone_at_once() -> None:
    answer = BatchQueue(rate_rps=1e-9, service=AFFINE, max_batch=32).solve()
    assert answer.mean_response_s == pytest.approx(0.06, rel=1e-9)
    assert answer.prob_wait == pytest.approx(6e-11, rel=1e-6)
    assert answer.mean_batch_seen == pytest.approx(1.0)


@pytest.mark.parametrize("max_batch", [256, 1000])
def test_large_batches_near_saturation_are_solved(max_batch: int) -> None:
    rate = 0.95 * max_batch / (0.05 + 0.01 * max_batch)
    answer = BatchQueue(rate_rps=rate, service=AFFINE, max_batch=max_batch).solve()
    # almost never empty and almost never full: the unlimited queue
    free = UnlimitedBatchQueue(rate_rps=rate, base_s=0.05, slope_s=0.01).bound_phi1_s
    assert answer.mean_response_s == pytest.approx(free, rel=1e-3)


@pytest.mark.parametrize("scv", [1.0, 3.0])
def test_large_batches_of_variable_services_are_solved(scv: float) -> None:
    service = AffineService(base_s=0.05, slope_s=0.01, scv=scv)
    answer = BatchQueue(rate_rps=0.9 * 64 / 0.69, service=service, max_batch=64).solve()
    size = np.arange(1, 65)
    pmf = np.array([answer.batch_pmf(int(k)) for k in size])
    assert pmf.min() >= 0
    assert pmf.sum() == pytest.approx(1.0, abs=1e-10)
    busy_s = pmf @ (0.05 + 0.01 * size)
    assert answer.utilization_frac == pytest.approx(0.9 * 64 / 0.69 * busy_s / (pmf @ size), rel=1e-9)


def test_a_law_without_enough_moments_is_named() -> None:
    def queue(alpha: float) -> BatchQueue:
        return BatchQueue(rate_rps=3.0, service=lambda n: Pareto(alpha=alpha, low=0.03 * n), max_batch=3)

    with pytest.raises(ConfigError, match="moment 2 is infinite"):
        queue(1.9).solve()


def test_a_variance_that_is_infinite_is_said_and_not_returned() -> None:
    service = LongestMemberService(length=Lognormal(mean=1.0, cv=1.0), unit_s=0.1)
    assert BatchQueue(rate_rps=3.0, service=service, max_batch=2).solve().wait.var_s2 > 0
    heavy = BatchQueue(rate_rps=3.0, service=lambda n: _NoThirdMoment(mean=0.1 * n, cv=1.0), max_batch=2)
    with pytest.raises(ConfigError, match="variance: infinite"):
        _ = heavy.solve().wait.var_s2


@dataclass(frozen=True, slots=True, kw_only=True)
class _NoThirdMoment(Lognormal):
    """Stands in for a law whose third moment does not exist."""

    def moment(self, k: int) -> float:
        if k >= 3:
            raise ConfigError("moment 3 is infinite")
        return Lognormal.moment(self, k)


def test_a_rate_at_capacity_is_refused_with_a_way_out() -> None:
    with pytest.raises(UnstableError, match=r"50 is not below capacity_rps=50 \(max_batch=5\); lower"):
        BatchQueue(rate_rps=50.0, service=AFFINE, max_batch=5).solve()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rate_rps": 0.0}, "rate_rps"),
        ({"rate_rps": math.nan}, "rate_rps"),
        ({"max_batch": 0}, "max_batch"),
        ({"max_batch": 2.5}, "max_batch"),
        ({"min_batch": 9}, "min_batch: 9 must be at most max_batch=8"),
        ({"timeout_s": -1.0}, "timeout_s"),
        ({"service": 0.3}, "map a batch size to a law"),
        ({"service": lambda size: 0.3}, "not a law"),
    ],
)
def test_parameters_out_of_range_are_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        BatchQueue(**{"rate_rps": 1.0, "service": AFFINE, "max_batch": 8, **wrong})


def test_larger_batches_must_not_be_faster() -> None:
    with pytest.raises(ConfigError, match="a batch of 2 is faster"):
        BatchQueue(rate_rps=1.0, service=lambda size: Exponential(mean=0.2 / size), max_batch=3).solve()


def test_too_few_states_are_an_error_and_not_an_answer() -> None:
    queue = BatchQueue(rate_rps=0.8, service=lambda n: Lognormal(mean=0.5 + 0.5 * n, cv=4.0), max_batch=2)
    with pytest.raises(ConvergenceError, match="raise max_states"):
        queue.solve(max_states=2000)
