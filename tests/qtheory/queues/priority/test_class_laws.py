"""Numbers of classes, waits by size and by prediction, repeated work: second routes and simulation."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant, Discrete, Exponential, Law, Lognormal, Pareto, Uniform
from qtheory.queues.priority import (
    SJF,
    NonpreemptivePriority,
    PredictedSJF,
    PreemptiveRepeatPriority,
    PreemptiveResumePriority,
    PriorityResult,
)
from qtheory.queues.single import MD1, MG1
from tests.qtheory.queues.simulated import agrees

TWO = {"rate_rps": [0.3, 0.4], "service": [Constant(value=0.8), Exponential(mean=1.2)]}
KINDS = [NonpreemptivePriority, PreemptiveResumePriority, PreemptiveRepeatPriority]


def _check_numbers(answer: PriorityResult) -> None:
    pmfs, means, variances = (
        answer.number_pmf_by_class,
        answer.mean_number_by_class,
        answer.var_number_by_class,
    )
    n = np.arange(400)
    for pmf, mean, var in zip(pmfs, means, variances, strict=True):
        law = np.array([pmf(k) for k in n.tolist()])
        assert law.sum() == pytest.approx(1.0, abs=1e-9)
        assert law @ n == pytest.approx(mean, rel=1e-7)
        assert law @ n**2 - mean**2 == pytest.approx(var, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_classes_have_the_moments_of_littles_law(kind: type) -> None:
    _check_numbers(kind(**{**TWO, "rate_rps": [0.3, 0.25]}).solve())


@pytest.mark.parametrize("kind", KINDS)
def test_the_only_class_is_a_plain_queue(kind: type) -> None:
    service = Lognormal(mean=1.0, cv=0.8)
    one, plain = kind(rate_rps=[0.7], service=[service]).solve(), MG1(rate_rps=0.7, service=service).solve()
    for n in (0, 1, 5, 20):
        assert one.number_pmf_by_class[0](n) == pytest.approx(plain.number_pmf(n), abs=1e-10)


def test_all_classes_are_gone_as_often_as_the_server_is_idle_or_busy_with_others() -> None:
    answer = NonpreemptivePriority(**TWO).solve()
    least = max(1 - mean for mean in answer.mean_number_by_class)  # P(N = 0) >= 1 - E[N]
    assert all(pmf(0) >= max(least - 1, answer.prob_empty) for pmf in answer.number_pmf_by_class)


@pytest.mark.parametrize("repeat", ["different", "identical"])
def test_exponential_work_drawn_anew_is_work_resumed(repeat: str) -> None:
    laws = [Exponential(mean=1.0), Exponential(mean=0.8)]
    again = PreemptiveRepeatPriority(rate_rps=[0.3, 0.3], service=laws, repeat="different").solve()
    resumed = PreemptiveResumePriority(rate_rps=[0.3, 0.3], service=laws).solve()
    same = PreemptiveRepeatPriority(rate_rps=[0.3], service=laws[:1], repeat=repeat).solve()
    for k in (0, 1):
        for name in ("wait_by_class", "response_by_class"):
            one, other = getattr(again, name)[k], getattr(resumed, name)[k]
            assert one.var_s2 == pytest.approx(other.var_s2, rel=1e-8)
            assert one.ppf([0.8, 0.99]) == pytest.approx(other.ppf([0.8, 0.99]), rel=1e-7)
    assert same.response_by_class[0].ppf(0.9) == pytest.approx(float(resumed.response_by_class[0].ppf(0.9)))


def _repeated(rates: list[float], laws: list[Law], *, identical: bool, n: int, seed: int) -> np.ndarray:
    """Responses of the second class, one path; an interrupted service starts again."""
    rng = np.random.default_rng(seed)
    come = np.cumsum(rng.exponential(1 / rates[1], n))
    first = np.cumsum(rng.exponential(1 / rates[0], int(3 * n * rates[0] / rates[1])))
    service = np.asarray(laws[0].sample(rng, first.size))
    i, free, done = 0, 0.0, np.empty(n)
    for j in range(n):
        work = float(laws[1].sample(rng, 1)[0])
        while True:
            while first[i] <= max(free, come[j]):  # the urgent go first, also those who came during them
                free = max(free, first[i]) + service[i]
                i += 1
            start = max(free, come[j])
            if first[i] >= start + work:
                break
            free = first[i]
            work = work if identical else float(laws[1].sample(rng, 1)[0])
        free = done[j] = start + work
    return done - come


@pytest.mark.parametrize("identical", [False, True])
@pytest.mark.parametrize("law", [Constant(value=1.0), Uniform(low=0.0, high=2.0)])
def test_repeated_work_takes_as_long_as_in_a_simulation(law: Law, identical: bool) -> None:
    rates, laws = [0.3, 0.25], [Exponential(mean=0.5), law]
    repeat = "identical" if identical else "different"
    answer = PreemptiveRepeatPriority(rate_rps=rates, service=laws, repeat=repeat).solve()
    paths = [_repeated(rates, laws, identical=identical, n=1500, seed=s)[150:] for s in range(24)]
    for t in (1.1, 1.5, 3.0, 7.0):
        late = (np.array(paths) > t).astype(float)
        assert agrees(late, float(answer.response_by_class[1].sf(t))), t


def test_repeated_work_without_a_third_moment_says_so() -> None:
    queue = PreemptiveRepeatPriority(
        rate_rps=[0.1, 0.1], service=[Pareto(alpha=2.5, low=0.5), Exponential(mean=1.0)]
    )
    with pytest.raises(ConfigError, match="third moment"):
        _ = queue.solve().wait_by_class[1].var_s2


def _shortest(law: Law, rate: float) -> np.ndarray:
    rng, n = np.random.default_rng(4), 5000
    waits = np.empty((24, n))
    for row in waits:
        come, size = np.cumsum(rng.exponential(1 / rate, n)), np.asarray(law.sample(rng, n))
        line: list[tuple[float, int]] = []
        now, i = 0.0, 0
        while i < n or line:
            now = max(now, come[i]) if not line and i < n else now
            while i < n and come[i] <= now:
                heapq.heappush(line, (size[i], i))
                i += 1
            _, j = heapq.heappop(line)
            row[j] = now - come[j]
            now += size[j]
    return waits[:, 500:]


@pytest.mark.parametrize(
    ("law", "rate"),
    [(Exponential(mean=1.0), 0.7), (Lognormal(mean=1.0, cv=1.5), 0.6), (Uniform(low=0.0, high=2.0), 0.8)],
)
def test_waits_under_shortest_first_are_those_of_a_simulation(law: Law, rate: float) -> None:
    wait = SJF(rate_rps=rate, service=law).solve().wait
    waits = _shortest(law, rate)
    for t in (0.0, 0.7, 3.1, 9.0):
        assert agrees((waits > t).astype(float), float(wait.sf(t))), t


def test_equal_sizes_wait_first_come_first_served() -> None:
    shortest = SJF(rate_rps=0.7, service=Constant(value=1.0)).solve().wait
    plain = MD1(rate_rps=0.7, service_s=1.0).solve().wait
    assert shortest.ppf([0.2, 0.9, 0.99]) == pytest.approx(plain.ppf([0.2, 0.9, 0.99]), rel=1e-5)
    assert shortest.var_s2 == pytest.approx(plain.var_s2, rel=1e-9)


def test_predictions_are_classes_of_priority() -> None:
    pairs = {"service_s": [0.5, 1.0, 3.0], "predicted_s": [1.0, 1.0, 2.0]}
    answer = PredictedSJF(rate_rps=0.5, **pairs).solve()
    short = Discrete(values=[0.5, 1.0], probs=[0.5, 0.5])
    classes = NonpreemptivePriority(rate_rps=[1 / 3, 1 / 6], service=[short, Constant(value=3.0)]).solve()
    for name, law in (("wait_by_class", answer.wait), ("response_by_class", answer.response)):
        first, second = getattr(classes, name)
        for t in (0.3, 1.7, 5.0, 9.0):
            mixed = float(2 * first.sf(t) + second.sf(t)) / 3
            assert law.sf(t) == pytest.approx(mixed, abs=2e-5)
        square = (2 * (first.var_s2 + first.mean_s**2) + second.var_s2 + second.mean_s**2) / 3
        assert law.var_s2 == pytest.approx(square - law.mean_s**2, rel=1e-9)


def test_right_predictions_are_the_sizes() -> None:
    sizes = {"values": [0.5, 1.0, 3.0], "probs": [0.5, 0.3, 0.2]}
    exact = SJF(rate_rps=0.5, service=Discrete(**sizes)).solve()
    predicted = PredictedSJF(
        rate_rps=0.5, service_s=sizes["values"], predicted_s=sizes["values"], weight=sizes["probs"]
    ).solve()
    assert predicted.wait.ppf(0.95) == pytest.approx(float(exact.wait.ppf(0.95)), rel=1e-4)
    assert predicted.wait.var_s2 == pytest.approx(exact.wait.var_s2, rel=1e-9)
    assert predicted.response.var_s2 == pytest.approx(exact.var_response_s2, rel=1e-9)
