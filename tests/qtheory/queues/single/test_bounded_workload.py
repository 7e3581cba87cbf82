"""Bounded workload against simulation, closed forms and its limits."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, ConvergenceError
from qtheory.laws import Constant, Discrete, Exponential, Law, Lognormal, Uniform
from qtheory.queues.single import MG1, BoundedWorkload, BoundedWorkloadResult
from tests.qtheory.queues.single.size_lists import number_by_lists


def simulated(
    rate: float, service: Law, limit: float, rule: str, n: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Waits of the accepted and sizes of the accepted."""
    rng = np.random.default_rng(seed)
    gaps = rng.exponential(1 / rate, n).tolist()
    sizes = np.asarray(service.sample(rng, n), dtype=float).tolist()
    work, waits, taken = 0.0, [], []
    for gap, size in zip(gaps, sizes, strict=True):
        work = max(work - gap, 0.0)
        if (work if rule == "wait" else work + size) <= limit:
            waits.append(work)
            taken.append(size)
            work += size
    return np.array(waits), np.array(taken)


@pytest.mark.parametrize("rule", ["wait", "response"])
@pytest.mark.parametrize(
    ("rate", "service", "limit"),
    [
        (0.8, Exponential(mean=1.0), 3.0),
        (1.5, Exponential(mean=1.0), 3.0),
        (1.2, Constant(value=1.0), 3.3),
        (1.2, Lognormal(mean=1.0, cv=1.2), 4.0),
        (0.9, Discrete(values=[0.5, 3.0], probs=[0.8, 0.2]), 4.0),
    ],
    ids=str,
)
def test_shares_waits_and_responses_agree_with_simulation(
    rule: str, rate: float, service: Law, limit: float
) -> None:
    answer = BoundedWorkload(rate_rps=rate, service=service, limit_s=limit, rule=rule).solve()
    n, rows = 40_000, []
    t = 0.4 * limit
    for seed in range(12):
        waits, sizes = simulated(rate, service, limit, rule, n, seed)
        late = waits + sizes
        rows.append(
            [1 - waits.size / n, waits.mean(), sizes.mean(), (waits > t).mean(), (late > t + 0.011).mean()]
        )
    wanted = [
        answer.prob_block,
        answer.mean_wait_s,
        answer.mean_response_s - answer.mean_wait_s,
        float(answer.wait.sf(t)),
        float(answer.response.sf(t + 0.011)),
    ]
    found = np.array(rows)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(rows))
    assert np.all(np.abs(found.mean(axis=0) - wanted) <= 4 * error + 1e-4)


@settings(max_examples=25)
@given(st.floats(0.2, 3.0), st.floats(0.3, 20.0))
def test_the_erlang_loss_of_a_bounded_mm1_wait(load: float, limit: float) -> None:
    answer = BoundedWorkload(rate_rps=load, service=Exponential(mean=1.0), limit_s=limit, rule="wait").solve()
    # M/M/1 with patience: the work below the limit grows like exp(-(1 - load) x)
    slack = 1 - load
    held = 1 + load * limit if abs(slack) < 1e-9 else (1 - load * np.exp(-slack * limit)) / slack
    assert answer.prob_block == pytest.approx(1 - held / (1 + load * held), rel=1e-6, abs=1e-10)


@pytest.mark.parametrize("rule", ["wait", "response"])
@pytest.mark.parametrize("service", [Uniform(low=0.2, high=1.8), Constant(value=1.0)], ids=str)
def test_a_generous_limit_gives_mg1_and_blocks_next_to_nobody(
    rule: Literal["wait", "response"], service: Law
) -> None:
    answer = BoundedWorkload(rate_rps=0.6, service=service, limit_s=25.0, rule=rule).solve()
    plain = MG1(rate_rps=0.6, service=service).solve()
    assert answer.mean_wait_s == pytest.approx(plain.mean_wait_s, rel=1e-4)
    assert float(answer.response.ppf(0.9)) == pytest.approx(float(plain.response.ppf(0.9)), rel=2e-3)
    assert 0 <= answer.prob_block < 1e-7


def test_a_tiny_loss_keeps_its_digits() -> None:
    answer = BoundedWorkload(rate_rps=0.5, service=Exponential(mean=1.0), limit_s=60.0, rule="wait").solve()
    assert answer.prob_block == pytest.approx(0.5 * np.exp(-30.0) * 0.5 / (1 - 0.25 * np.exp(-30)), rel=1e-5)


def test_two_rules_are_one_for_a_constant_service() -> None:
    by_response = BoundedWorkload(rate_rps=1.3, service=Constant(value=1.0), limit_s=4.0).solve()
    by_wait = BoundedWorkload(rate_rps=1.3, service=Constant(value=1.0), limit_s=3.0, rule="wait").solve()
    assert by_response.prob_block == by_wait.prob_block


def test_long_customers_are_turned_away_first() -> None:
    answer = BoundedWorkload(rate_rps=1.0, service=Lognormal(mean=1.0, cv=1.0), limit_s=3.0).solve()
    shares = answer.accept_given_size([0.1, 1.0, 2.9, 3.1])
    assert np.all(np.diff(shares) < 0)
    assert shares[-1] == 0.0
    assert answer.accepted_work_frac < 1 - answer.prob_block


@settings(max_examples=25)
@given(st.floats(0.3, 2.5), st.floats(0.5, 10.0))
def test_more_load_sheds_more_and_a_longer_limit_less(load: float, limit: float) -> None:
    def share(rate: float, d: float) -> float:
        return (
            BoundedWorkload(rate_rps=rate, service=Uniform(low=0.1, high=1.9), limit_s=d).solve().prob_block
        )

    assert share(load * 1.1, limit) > share(load, limit)
    assert share(load, limit * 1.2) < share(load, limit) + 1e-6  # flat in overload


@settings(max_examples=25)
@given(st.floats(1e-9, 1e9))
def test_the_unit_of_time_does_not_matter(scale: float) -> None:
    service = Lognormal(mean=1.0, cv=0.8)
    one = BoundedWorkload(rate_rps=1.1, service=service, limit_s=3.0).solve()
    other = BoundedWorkload(rate_rps=1.1 / scale, service=service.scaled(scale), limit_s=3.0 * scale).solve()
    assert other.prob_block == pytest.approx(one.prob_block, rel=1e-9)
    assert other.mean_response_s == pytest.approx(scale * one.mean_response_s, rel=1e-9)


def test_nobody_is_short_enough() -> None:
    for service in (Constant(value=2.0), Uniform(low=2.0, high=3.0)):
        answer = BoundedWorkload(rate_rps=1.0, service=service, limit_s=1.0).solve()
        assert answer.prob_block == 1.0
        assert answer.mean_wait_s is None


def test_an_unknown_rule_gives_the_right_spelling() -> None:
    with pytest.raises(ConfigError, match="did you mean 'response'"):
        BoundedWorkload(rate_rps=1.0, service=Exponential(mean=1.0), limit_s=1.0, rule="respond")  # type: ignore[arg-type]


def pmf_of(answer: BoundedWorkloadResult, n: int) -> np.ndarray:
    assert answer.number_pmf is not None
    return np.array([answer.number_pmf(k) for k in range(n)])


@pytest.mark.parametrize("rule", ["wait", "response"])
@pytest.mark.parametrize("rate", [0.4, 3.0])
@pytest.mark.parametrize("sizes", [(0.57, 1.9), (0.5, 1.5)], ids=["between", "on_the_grid"])
def test_the_number_is_that_of_a_chain_over_lists_of_sizes(
    rule: Literal["wait", "response"], rate: float, sizes: tuple[float, float]
) -> None:
    wanted = number_by_lists(rate, sizes, (0.7, 0.3), 2.7, by_wait=rule == "wait")
    service = Discrete(values=list(sizes), probs=[0.7, 0.3])
    answer = BoundedWorkload(rate_rps=rate, service=service, limit_s=2.7, rule=rule).solve()
    assert pmf_of(answer, wanted.size) == pytest.approx(wanted, abs=3e-5)
    assert pmf_of(answer, 40)[wanted.size :].sum() == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("rule", ["wait", "response"])
@pytest.mark.parametrize("limit", [1.0, 1.3, 2.7, 3.0])
def test_the_number_of_constant_services_is_that_of_the_chain(
    rule: Literal["wait", "response"], limit: float
) -> None:
    wanted = number_by_lists(1.3, (1.0,), (1.0,), limit, by_wait=rule == "wait")
    answer = BoundedWorkload(rate_rps=1.3, service=Constant(value=1.0), limit_s=limit, rule=rule).solve()
    assert pmf_of(answer, wanted.size) == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize("rule", ["wait", "response"])
@pytest.mark.parametrize("service", [Exponential(mean=1.0), Lognormal(mean=1.0, cv=1.2)], ids=str)
@pytest.mark.parametrize(("rate", "limit"), [(0.8, 3.0), (1.5, 6.0)])
def test_the_number_has_the_mean_and_the_empty_share_of_other_routes(
    rule: Literal["wait", "response"], service: Law, rate: float, limit: float
) -> None:
    answer = BoundedWorkload(rate_rps=rate, service=service, limit_s=limit, rule=rule).solve()
    number = pmf_of(answer, 60)
    assert number.sum() == pytest.approx(1.0, abs=1e-9)
    assert number @ np.arange(60) == pytest.approx(answer.mean_number, rel=1e-6)


@pytest.mark.parametrize("rule", ["wait", "response"])
def test_the_number_over_time_agrees_with_simulation(rule: Literal["wait", "response"]) -> None:
    rate, service, limit, n = 1.2, Uniform(low=0.2, high=1.8), 3.0, 20_000
    shares = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        gaps = rng.exponential(1 / rate, n).tolist()
        sizes = np.asarray(service.sample(rng, n), dtype=float).tolist()
        now, free, come, gone = 0.0, 0.0, [], []
        for gap, size in zip(gaps, sizes, strict=True):
            now += gap
            work = max(free - now, 0.0)
            if (work if rule == "wait" else work + size) <= limit:
                free = now + work + size
                come.append(now)
                gone.append(free)
        events = np.concatenate([come, gone])
        order = np.argsort(events)
        number = np.cumsum(np.repeat([1, -1], len(come))[order])[:-1]
        time = np.bincount(number, weights=np.diff(events[order]), minlength=12)[:6]
        shares.append(time / (events.max() - events.min()))
    answer = BoundedWorkload(rate_rps=rate, service=service, limit_s=limit, rule=rule).solve()
    found = np.array(shares)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(shares))
    assert np.all(np.abs(found.mean(axis=0) - pmf_of(answer, 6)) <= 4 * error + 1e-5)


def test_the_number_under_a_generous_limit_is_that_of_mg1() -> None:
    service = Lognormal(mean=1.0, cv=0.8)
    answer = BoundedWorkload(rate_rps=0.5, service=service, limit_s=30.0, rule="wait").solve()
    plain = MG1(rate_rps=0.5, service=service).solve()
    assert plain.number_pmf is not None
    wanted = [plain.number_pmf(n) for n in range(12)]
    assert pmf_of(answer, 12) == pytest.approx(np.array(wanted), abs=3e-6)


def test_the_number_says_when_the_grid_is_too_coarse() -> None:
    answer = BoundedWorkload(rate_rps=20.0, service=Exponential(mean=1.0), limit_s=10.0, n_points=256).solve()
    with pytest.raises(ConvergenceError, match=r"number: .* raise n_points"):
        pmf_of(answer, 1)
