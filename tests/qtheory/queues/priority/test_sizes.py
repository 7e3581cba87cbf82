"""Rules that look at sizes: simulation, limits, orderings, gridded integrals."""

from __future__ import annotations

from itertools import pairwise

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
    Law,
    Lognormal,
    Mixture,
    Pareto,
    Uniform,
    Weibull,
)
from qtheory.queues.priority import (
    LAS,
    PSJF,
    SJF,
    SRPT,
    NonpreemptivePriority,
    PredictedSJF,
    PreemptiveResumePriority,
)
from qtheory.queues.priority._sizes import SizeGrid
from qtheory.queues.single import MG1
from tests.qtheory.queues.ranked import serve_by_rank

LAWS: list[Law] = [
    Exponential(mean=1.0),
    Lognormal(mean=1.0, cv=2.0),
    Uniform(low=0.2, high=1.8),
    Weibull(shape=0.8, scale=1.0),
    Gamma(mean=1.0, cv=1.6),
    Erlang(k=40, mean=1.0),
    Discrete(values=[0.4, 1.0, 3.0], probs=[0.5, 0.3, 0.2]),
]
RULES = {
    "srpt": (SRPT, True, lambda size, left: left),
    "psjf": (PSJF, True, lambda size, left: size),
    "sjf": (SJF, False, lambda size, left: size),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("law", [LAWS[0], LAWS[2], LAWS[6]], ids=str)
def test_mean_variance_and_slowdown_agree_with_simulation(rule: str, law: Law) -> None:
    model, preempt, rank = RULES[rule]
    answer = model(rate_rps=0.7 / law.mean, service=law).solve()
    rows = []
    for seed in range(14):
        rng = np.random.default_rng(seed)
        n = 12_000
        arrivals = np.cumsum(rng.exponential(law.mean / 0.7, n))
        sizes = np.asarray(law.sample(rng, n), dtype=float)
        _, ends = serve_by_rank(arrivals, sizes, lambda i, left, s=sizes: rank(s[i], left), preempt=preempt)
        response = ends - arrivals
        rows.append([response.mean(), response.var(), np.median(response / sizes)])
    found = np.array(rows)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(rows))
    assert abs(found[:, 0].mean() - answer.mean_response_s) < 4 * error[0]
    assert abs(found[:, 1].mean() - answer.var_response_s2) < 4 * error[1]


@pytest.mark.parametrize("law", LAWS[:5], ids=str)
@pytest.mark.parametrize("rule", [SRPT, PSJF, SJF, LAS])
def test_the_mean_is_the_average_over_quantiles(rule: type, law: Law) -> None:
    queue = rule(rate_rps=0.6 / law.mean, service=law)
    node, weight = np.polynomial.legendre.leggauss(6)
    total = 0.0
    ends = [0.0, 0.3, 0.7, 0.9, 0.99, 0.9999, 1 - 1e-7]
    for low, high in pairwise(ends):
        q = low + (high - low) * (0.5 + 0.5 * node)
        values = [queue.mean_response_given_size_s(float(law.ppf(float(x)))) for x in q]
        total += float(weight @ values) * (high - low) / 2
    assert queue.solve().mean_response_s == pytest.approx(total, rel=3e-3)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_srpt_is_best_and_everybody_beats_himself(law: Law) -> None:
    rate = 0.8 / law.mean
    means = {
        rule.__name__: rule(rate_rps=rate, service=law).solve().mean_response_s
        for rule in (SRPT, PSJF, SJF, LAS)
    }
    assert means["SRPT"] == min(means.values())
    assert means["SJF"] < MG1(rate_rps=rate, service=law).solve().mean_response_s


@given(st.floats(0.05, 0.95))
def test_least_attained_service_of_an_exponential_is_mm1(load: float) -> None:
    assert LAS(rate_rps=load, service=Exponential(mean=1.0)).solve().mean_response_s == pytest.approx(
        1 / (1 - load)
    )


@pytest.mark.parametrize("rule", [SRPT, PSJF, SJF])
def test_equal_sizes_are_served_in_order(rule: type) -> None:
    answer = rule(rate_rps=0.7, service=Constant(value=1.0)).solve()
    assert answer.mean_response_s == pytest.approx(1 + 0.7 / (2 * 0.3))


@settings(max_examples=40)
@given(st.sampled_from([SRPT, PSJF, SJF, LAS]), st.sampled_from(LAWS), st.floats(1e-9, 1e9))
def test_the_unit_of_time_does_not_matter(rule: type, law: Law, scale: float) -> None:
    one = rule(rate_rps=0.6 / law.mean, service=law).solve()
    other = rule(rate_rps=0.6 / (law.mean * scale), service=law.scaled(scale)).solve()
    assert other.mean_response_s == pytest.approx(scale * one.mean_response_s, rel=1e-8)
    assert other.var_response_s2 == pytest.approx(scale**2 * one.var_response_s2, rel=1e-7)


@settings(max_examples=40)
@given(st.sampled_from([SRPT, PSJF, SJF, LAS]), st.sampled_from(LAWS), st.floats(0.05, 0.9))
def test_more_load_takes_longer(rule: type, law: Law, load: float) -> None:
    low, high = (
        rule(rate_rps=x / law.mean, service=law).solve().mean_response_s for x in (load, load * 1.05)
    )
    assert high > low


def test_a_list_of_sizes_is_a_list_of_classes() -> None:
    sizes, probs, rate = [0.4, 1.0, 3.0], [0.5, 0.3, 0.2], 0.5
    law = Discrete(values=sizes, probs=probs)
    rates, laws = [rate * p for p in probs], [Constant(value=x) for x in sizes]
    cobham = NonpreemptivePriority(rate_rps=rates, service=laws).solve()
    resume = PreemptiveResumePriority(rate_rps=rates, service=laws).solve()
    for k, x in enumerate(sizes):
        sjf, psjf = SJF(rate_rps=rate, service=law), PSJF(rate_rps=rate, service=law)
        assert sjf.mean_wait_given_size_s(x) == pytest.approx(cobham.mean_wait_s_by_class[k])
        assert sjf.var_response_given_size_s2(x) == pytest.approx(cobham.wait_by_class[k].var_s2)
        assert psjf.mean_response_given_size_s(x) == pytest.approx(resume.mean_response_s_by_class[k])
        assert psjf.var_response_given_size_s2(x) == pytest.approx(resume.response_by_class[k].var_s2)


def test_perfect_predictions_are_shortest_job_first() -> None:
    sizes = np.linspace(0.05, 3.0, 60)
    plain = SJF(rate_rps=0.4, service=Discrete(values=sizes.tolist(), probs=[1 / 60] * 60)).solve()
    predicted = PredictedSJF(rate_rps=0.4, service_s=sizes.tolist(), predicted_s=(sizes * 7).tolist()).solve()
    assert predicted.mean_wait_s == pytest.approx(plain.mean_wait_s)


def test_useless_predictions_are_first_come_first_served() -> None:
    predicted = PredictedSJF(rate_rps=0.4, service_s=[0.5, 3.0], predicted_s=[1.0, 1.0]).solve()
    law = Discrete(values=[0.5, 3.0], probs=[0.5, 0.5])
    assert predicted.mean_wait_s == pytest.approx(MG1(rate_rps=0.4, service=law).solve().mean_wait_s)


def test_noisy_predictions_lie_between() -> None:
    rng = np.random.default_rng(1)
    sizes = np.exp(rng.normal(0, 1, 4000))
    rate = 0.8 / sizes.mean()

    def mean_wait(noise: float) -> float:
        told = sizes * np.exp(noise * rng.normal(0, 1, sizes.size))
        return (
            PredictedSJF(rate_rps=rate, service_s=sizes.tolist(), predicted_s=told.tolist())
            .solve()
            .mean_wait_s
        )

    assert mean_wait(0.0) < mean_wait(0.7) < mean_wait(20.0)


@pytest.mark.parametrize("law", [*LAWS, Pareto(alpha=2.2, low=0.5)], ids=str)
def test_the_grid_has_the_moments(law: Law) -> None:
    grid = SizeGrid.of(law)
    assert grid.weight.sum() == pytest.approx(1.0, abs=1e-9)
    assert grid.weight @ grid.x == pytest.approx(law.mean, rel=1e-8)
    for x in (0.3, 1.0, 2.5):
        at = SizeGrid.of(law, stops=(x,))
        assert at.at(at.upto[2], x) == pytest.approx(law.moment_between(2, -1.0, x), abs=1e-9)
        assert at.at(at.capped[1], x) == pytest.approx(
            law.moment_between(1, -1.0, x) + x * law.sf(x), rel=1e-9
        )


def test_atoms_with_a_density_overload_and_bad_sizes_are_refused() -> None:
    mixed = Mixture(laws=[Constant(value=1.0), Exponential(mean=1.0)], weights=[0.5, 0.5])
    with pytest.raises(ConvergenceError, match="both atoms and a density"):
        SRPT(rate_rps=0.5, service=mixed).solve()
    with pytest.raises(UnstableError, match="load 1"):
        LAS(rate_rps=1.0, service=Exponential(mean=1.0)).solve()
    with pytest.raises(ConfigError, match="size_s"):
        SRPT(rate_rps=0.5, service=Exponential(mean=1.0)).mean_response_given_size_s(0.0)
    with pytest.raises(ConfigError, match="predicted_s: 1 values for 2 sizes"):
        PredictedSJF(rate_rps=0.4, service_s=[0.5, 3.0], predicted_s=[1.0])
    with pytest.raises(ConfigError, match="moment 2 is infinite"):
        SJF(rate_rps=0.2, service=Pareto(alpha=1.5, low=0.3)).solve()


def test_an_infinite_third_moment_leaves_the_means() -> None:
    law = Pareto(alpha=2.5, low=0.5)
    for rule in (SRPT, PSJF, SJF, LAS):
        answer = rule(rate_rps=0.5, service=law).solve()
        assert answer.mean_response_s > 0
        assert answer.var_response_s2 is None
    with pytest.raises(ConfigError, match="third moment is infinite"):
        SJF(rate_rps=0.5, service=law).var_response_given_size_s2(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("law", [Exponential(mean=1.0), Lognormal(mean=1.0, cv=1.5)], ids=str)
def test_the_law_over_all_sizes_agrees_with_simulation(rule: str, law: Law) -> None:
    model, preempt, rank = RULES[rule]
    answer = model(rate_rps=0.7, service=law).solve()
    levels = np.array([0.5, 1.5, 4.0, 10.0])
    rows = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        arrivals = np.cumsum(rng.exponential(1 / 0.7, 30_000))
        sizes = np.asarray(law.sample(rng, 30_000), dtype=float)
        _, ends = serve_by_rank(arrivals, sizes, lambda i, left, s=sizes: rank(s[i], left), preempt=preempt)
        rows.append([(ends - arrivals > t).mean() for t in levels])
    found = np.array(rows)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(rows))
    assert np.all(np.abs(found.mean(axis=0) - answer.response.sf(levels)) < 4 * error)


@pytest.mark.parametrize(
    "rule", [pytest.param(SRPT, marks=pytest.mark.slow), pytest.param(LAS, marks=pytest.mark.slow), PSJF, SJF]
)
def test_the_law_given_the_size_has_its_mean_and_starts_at_the_size(rule: type) -> None:
    law = rule(rate_rps=0.6, service=Gamma(mean=1.0, cv=0.8)).response_given_size(0.8)
    node, weight = np.polynomial.legendre.leggauss(5)
    edges = np.array([0, 0.8, 1.2, 1.7, 2.5, 4, 6, 9, 14, 30, 60.0])
    half = np.diff(edges) / 2
    t = (edges[1:] + edges[:-1])[:, None] / 2 + half[:, None] * node
    tail = law.sf(t)
    assert tail[0] == pytest.approx(1.0, abs=1e-4)
    assert (half[:, None] * weight * tail).sum() == pytest.approx(law.mean_s, rel=2e-3)


def test_the_law_of_a_list_of_sizes_is_the_mixture_of_its_classes() -> None:
    sizes, probs, rate = [0.4, 1.0, 3.0], [0.5, 0.3, 0.2], 0.5
    whole = PSJF(rate_rps=rate, service=Discrete(values=sizes, probs=probs)).solve().response
    laws = [Constant(value=x) for x in sizes]
    classes = PreemptiveResumePriority(rate_rps=[rate * p for p in probs], service=laws).solve()
    t = np.array([0.7, 1.9, 5.05])
    mixed = sum(p * law.sf(t) for p, law in zip(probs, classes.response_by_class, strict=True))
    assert whole.sf(t) == pytest.approx(mixed, abs=4e-3)


@pytest.mark.parametrize(
    ("rule", "t", "wanted"),  # the smooth mixture over 1500 sizes, inverted with twice the terms: 11 digits
    [
        (PSJF, 0.7, 0.525282509162),
        (PSJF, 1.7, 0.284764124630),
        (SJF, 0.7, 0.783865207479),
        (SJF, 1.7, 0.482499629827),
        (SRPT, 0.7, 0.545361576648),
    ],
)
def test_the_law_has_its_digits_where_sizes_are_of_the_order_of_the_response(
    rule: type, t: float, wanted: float
) -> None:
    answer = rule(rate_rps=0.8, service=Exponential(mean=1.0)).solve()
    assert float(answer.response.sf(t)) == pytest.approx(wanted, abs=2e-6)
    assert float(answer.response.ppf(1 - wanted)) == pytest.approx(t, rel=1e-5)


@pytest.mark.parametrize("rule", [SRPT, PSJF, SJF, LAS])
def test_both_ways_to_a_tail_meet(rule: type) -> None:
    for law, t in ((Exponential(mean=1.0), 6.2), (Lognormal(mean=1.0, cv=2.0), 15.0)):
        response = rule(rate_rps=0.8, service=law).solve().response
        among, beyond = (
            float(near.tail(np.array(t)))
            for near in (response._among_sizes(t), response._beyond_sizes(t, is_atomic=False))
        )
        assert among == pytest.approx(beyond, rel=2e-4)


@pytest.mark.parametrize("rule", [SRPT, PSJF, SJF, LAS])
def test_percentiles_go_back_to_their_levels_in_any_order(rule: type) -> None:
    response = rule(rate_rps=0.6, service=Uniform(low=0.2, high=1.8)).solve().response
    levels = np.array([0.99, 0.5, 0.9, 0.95])
    times = response.ppf(levels)
    assert response.sf(times) == pytest.approx(1 - levels, abs=1e-6)
    assert np.all(np.diff(times[np.argsort(levels)]) > 0)
    again = rule(rate_rps=0.6, service=Uniform(low=0.2, high=1.8)).solve().response
    assert again.ppf(0.9) == pytest.approx(times[2], rel=1e-5)


def test_least_attained_service_of_an_exponential_is_at_least_its_mean_by_its_law() -> None:
    response = LAS(rate_rps=0.5, service=Exponential(mean=1.0)).solve().response
    node, weight = np.polynomial.legendre.leggauss(8)
    edges = np.array([0.0, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
    half = np.diff(edges) / 2
    t = (edges[1:] + edges[:-1])[:, None] / 2 + half[:, None] * node
    assert (half[:, None] * weight * response.sf(t)).sum() == pytest.approx(2.0, rel=1e-4)
