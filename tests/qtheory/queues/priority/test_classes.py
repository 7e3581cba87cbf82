"""Priority classes: simulation, conservation of work, limits and laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.laws import Constant, Erlang, Exponential, Gamma, Law, Lognormal, Pareto, Uniform
from qtheory.queues.priority import (
    DiscriminatoryPS,
    NonpreemptivePriority,
    PreemptiveRepeatPriority,
    PreemptiveResumePriority,
)
from qtheory.queues.single import MD1, MG1
from tests.qtheory.queues.ranked import serve_by_rank

MIXES: list[tuple[list[float], list[Law]]] = [
    ([0.2, 0.3], [Exponential(mean=0.8), Exponential(mean=1.6)]),
    ([0.3, 0.2], [Constant(value=1.0), Uniform(low=0.5, high=2.5)]),
    ([0.15, 0.2, 0.2], [Erlang(k=2, mean=1.0), Constant(value=0.7), Gamma(mean=1.2, cv=1.2)]),
]


def simulated(rates: list[float], laws: list[Law], n: int, seed: int, **rule: bool) -> list[np.ndarray]:
    """Class by class: waits to the first start, and responses, as two rows."""
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(1 / sum(rates), n))
    kind = rng.choice(len(rates), p=np.array(rates) / sum(rates), size=n)
    sizes = np.empty(n)
    for k, law in enumerate(laws):
        sizes[kind == k] = law.sample(rng, int((kind == k).sum()))
    starts, ends = serve_by_rank(arrivals, sizes, lambda i, left: float(kind[i]), **rule)  # type: ignore[arg-type]
    return [
        np.array([(starts - arrivals)[kind == k], (ends - arrivals)[kind == k]]) for k in range(len(rates))
    ]


def within(samples: list[np.ndarray], value: float, slack: float = 0.0) -> bool:
    means = np.array([s.mean() for s in samples])
    return bool(abs(means.mean() - value) <= 4 * means.std(ddof=1) / np.sqrt(means.size) + slack)


@pytest.mark.parametrize("mix", MIXES, ids=["exponential", "constant", "three"])
@pytest.mark.parametrize("preempt", [False, True])
def test_waits_responses_and_tails_agree_with_simulation(
    mix: tuple[list[float], list[Law]], preempt: bool
) -> None:
    rates, laws = mix
    model = PreemptiveResumePriority if preempt else NonpreemptivePriority
    answer = model(rate_rps=rates, service=laws).solve()
    runs = [simulated(rates, laws, 15_000, seed, preempt=preempt) for seed in range(12)]
    for k in range(len(rates)):
        assert within([run[k][0] for run in runs], answer.mean_wait_s_by_class[k])
        assert within([run[k][1] for run in runs], answer.mean_response_s_by_class[k])
        for t in (0.9, 2.6, 6.3):
            assert within([run[k][0] > t for run in runs], float(answer.wait_by_class[k].sf(t)), 1e-3)
            assert within([run[k][1] > t for run in runs], float(answer.response_by_class[k].sf(t)), 1e-3)


@pytest.mark.parametrize("law", [Constant(value=1.0), Uniform(low=0.2, high=1.4)], ids=str)
def test_repeated_work_agrees_with_simulation(law: Law) -> None:
    rates, laws = [0.3, 0.2], [Exponential(mean=0.6), law]
    answer = PreemptiveRepeatPriority(rate_rps=rates, service=laws, repeat="identical").solve()
    runs = [simulated(rates, laws, 15_000, seed, preempt=True, restart=True) for seed in range(12)]
    for k in range(2):
        assert within([run[k][1] for run in runs], answer.mean_response_s_by_class[k])


def test_repeating_an_exponential_differently_is_resuming_it() -> None:
    rates, laws = [0.2, 0.2, 0.1], [Exponential(mean=1.0), Exponential(mean=0.8), Exponential(mean=1.5)]
    repeat = PreemptiveRepeatPriority(rate_rps=rates, service=laws).solve()
    resume = PreemptiveResumePriority(rate_rps=rates, service=laws).solve()
    assert repeat.mean_response_s_by_class == pytest.approx(resume.mean_response_s_by_class)


def test_repeating_a_constant_is_the_same_either_way() -> None:
    rates, laws = [0.3, 0.2], [Exponential(mean=0.6), Constant(value=1.0)]
    means = [
        PreemptiveRepeatPriority(rate_rps=rates, service=laws, repeat=r).solve().mean_response_s_by_class  # type: ignore[arg-type]
        for r in ("different", "identical")
    ]
    assert means[0] == pytest.approx(means[1])


@given(
    st.lists(
        st.tuples(st.floats(0.05, 0.3), st.floats(0.2, 1.0), st.floats(0.1, 2.0)), min_size=1, max_size=5
    )
)
def test_the_order_of_the_classes_does_not_change_the_work(classes: list[tuple[float, float, float]]) -> None:
    rates = [rate for rate, _, _ in classes]
    laws: list[Law] = [Gamma(mean=mean, cv=cv) for _, mean, cv in classes]
    load = sum(r * law.mean for r, law in zip(rates, laws, strict=True))
    rates = [r * 0.8 / load for r in rates]

    def work(order: slice) -> float:
        answer = NonpreemptivePriority(rate_rps=rates[order], service=laws[order]).solve()
        waits = answer.mean_wait_s_by_class
        return sum(r * law.mean * w for r, law, w in zip(rates[order], laws[order], waits, strict=True))

    assert work(slice(None)) == pytest.approx(work(slice(None, None, -1)))


@settings(max_examples=20)
@given(st.floats(0.05, 0.9), st.floats(1e-9, 1e9))
def test_one_class_is_mg1_in_any_unit(load: float, scale: float) -> None:
    law = Gamma(mean=scale, cv=1.4)
    plain = MG1(rate_rps=load / scale, service=law).solve()
    for model in (NonpreemptivePriority, PreemptiveResumePriority):
        answer = model(rate_rps=[load / scale], service=[law]).solve()
        assert answer.mean_response_s == pytest.approx(plain.mean_response_s)
        found = float(answer.response_by_class[0].ppf(0.95))
        assert found == pytest.approx(float(plain.response.ppf(0.95)), rel=1e-6)
        assert answer.response_by_class[0].var_s2 == pytest.approx(plain.response.var_s2)


def test_the_first_class_does_not_see_the_others_if_it_interrupts() -> None:
    answer = PreemptiveResumePriority(rate_rps=[0.5, 0.2], service=[Constant(value=1.0)] * 2).solve()
    exact = MD1(rate_rps=0.5, service_s=1.0).solve()
    assert float(answer.wait_by_class[0].ppf(0.99)) == pytest.approx(float(exact.wait.ppf(0.99)), rel=1e-4)
    assert float(answer.response_by_class[0].sf(0.999)) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("model", [NonpreemptivePriority, PreemptiveResumePriority])
def test_variances_are_those_of_the_tails(model: type) -> None:
    answer = model(rate_rps=[0.2, 0.2], service=[Exponential(mean=1.0), Erlang(k=2, mean=1.2)]).solve()
    node, weight = np.polynomial.legendre.leggauss(24)
    edges = np.arange(0, 120, 2.0)
    t, w = (edges[:, None] + 1 + node).ravel(), np.tile(weight, edges.size)
    for law in (*answer.wait_by_class, *answer.response_by_class):
        tail = law.sf(t)
        assert w @ tail == pytest.approx(law.mean_s, rel=1e-4)
        assert 2 * w @ (t * tail) - (w @ tail) ** 2 == pytest.approx(law.var_s2, rel=1e-3)


def test_infinite_third_moments_leave_the_means() -> None:
    answer = NonpreemptivePriority(
        rate_rps=[0.1, 0.1], service=[Exponential(mean=1.0), Pareto(alpha=2.5, low=0.5)]
    ).solve()
    assert all(w > 0 for w in answer.mean_wait_s_by_class)
    with pytest.raises(ConfigError, match="third moment"):
        _ = answer.wait_by_class[0].var_s2


def test_overload_names_the_class() -> None:
    with pytest.raises(UnstableError, match=r"classes 1 to 2 bring a load of 1\.1.*rate of class 2"):
        NonpreemptivePriority(rate_rps=[0.5, 0.6, 0.1], service=[Exponential(mean=1.0)] * 3).solve()
    with pytest.raises(UnstableError, match="class 2 and its repeated work"):
        PreemptiveRepeatPriority(
            rate_rps=[0.5, 0.3], service=[Exponential(mean=1.0), Constant(value=2.0)]
        ).solve()


def test_bad_lists_and_unbounded_repeats_are_refused() -> None:
    with pytest.raises(ConfigError, match="2 rates for 1 services"):
        NonpreemptivePriority(rate_rps=[0.5, 0.6], service=[Exponential(mean=1.0)])
    with pytest.raises(ConfigError, match="class 2 repeats the same work"):
        PreemptiveRepeatPriority(
            rate_rps=[0.5, 0.1],
            service=[Exponential(mean=0.5), Lognormal(mean=1.0, cv=1.0)],
            repeat="identical",
        ).solve()
    with pytest.raises(ConfigError, match="did you mean 'identical'"):
        PreemptiveRepeatPriority(rate_rps=[0.5], service=[Exponential(mean=1.0)], repeat="identicl")  # type: ignore[arg-type]


@given(st.floats(0.1, 10.0), st.floats(0.1, 0.9))
def test_equal_weights_share_like_one_class(mu: float, load: float) -> None:
    answer = DiscriminatoryPS(
        rate_rps=[0.3 * load * mu, 0.7 * load * mu], service_rate_rps=[mu, mu], weight=[3.0, 3.0]
    ).solve()
    assert answer.mean_response_s_by_class == pytest.approx([1 / (mu * (1 - load))] * 2)


def test_a_huge_weight_is_preemptive_priority() -> None:
    shared = DiscriminatoryPS(rate_rps=[0.3, 0.3], service_rate_rps=[1.0, 0.8], weight=[1e9, 1.0]).solve()
    strict = PreemptiveResumePriority(
        rate_rps=[0.3, 0.3], service=[Exponential(mean=1.0), Exponential(mean=1.25)]
    ).solve()
    # the first class shares with itself alone, which for exponential services changes no mean
    assert shared.mean_response_s_by_class == pytest.approx(strict.mean_response_s_by_class, rel=1e-6)


def test_weights_must_be_as_many_as_classes() -> None:
    with pytest.raises(ConfigError, match="give one of each a class"):
        DiscriminatoryPS(rate_rps=[0.3], service_rate_rps=[1.0], weight=[1.0, 2.0])
