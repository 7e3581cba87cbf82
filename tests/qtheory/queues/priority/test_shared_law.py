"""The law of the response under sharing, of any size: closed forms, moments, simulation."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from qtheory.basics.errors import ConvergenceError
from qtheory.laws import Constant, Discrete, Exponential, Gamma, Law, Lognormal, Uniform
from qtheory.queues.multi import MMc
from qtheory.queues.priority import MM1PS, DiscriminatoryPS, LimitedProcessorSharing, ProcessorSharing
from tests.qtheory.queues.simulated import agrees


def _shared(law: Law, rate: float) -> np.ndarray:
    """Responses, replications by customers, by the service that everybody present has got."""
    rng, n = np.random.default_rng(11), 4000
    times = np.empty((24, n))
    for row in times:
        come, size = np.cumsum(rng.exponential(1 / rate, n)), np.asarray(law.sample(rng, n))
        present: list[tuple[float, int]] = []
        got, now, i = 0.0, 0.0, 0
        while i < n or present:
            next_come = come[i] if i < n else np.inf
            done = now + (present[0][0] - got) * len(present) if present else np.inf
            if done <= next_come:
                now, (got, j) = done, heapq.heappop(present)
                row[j] = now - come[j]
                continue
            got += (next_come - now) / len(present) if present else 0.0
            now = next_come
            heapq.heappush(present, (got + size[i], i))
            i += 1
    return times[:, 400:]


def test_exponential_sizes_have_the_mixture_of_exponentials() -> None:
    general = ProcessorSharing(rate_rps=0.8, service=Exponential(mean=1.0)).solve().response
    mixture = MM1PS(rate_rps=0.8, service_rate_rps=1.0).solve().response
    for q in (0.01, 0.5, 0.9, 0.99, 0.999):
        assert general.ppf(q) == pytest.approx(float(mixture.ppf(q)), rel=3e-5)
    for t in (0.1, 2.0, 40.0):
        assert general.sf(t) == pytest.approx(float(mixture.sf(t)), abs=1e-6)


@pytest.mark.parametrize("size", [0.1, 2.0, 9.0])
def test_the_response_of_a_size_is_that_of_the_closed_transform(size: float) -> None:
    general = ProcessorSharing(rate_rps=0.8, service=Exponential(mean=1.0)).response_given_size(size)
    closed = MM1PS(rate_rps=0.8, service_rate_rps=1.0).response_given_size(size)
    at = size * np.array([1.5, 4.0, 12.0])
    assert general.sf(at) == pytest.approx(closed.sf(at), abs=5e-5)


@pytest.mark.parametrize(
    ("law", "rate"),
    [
        (Lognormal(mean=1.0, cv=1.5), 0.6),
        (Uniform(low=0.5, high=1.5), 0.7),
        (Discrete(values=[0.5, 3.0], probs=[0.8, 0.2]), 0.6),
        (Constant(value=1.0), 0.7),
        (Gamma(mean=1.0, cv=2.0), 0.5),
    ],
)
def test_tails_are_those_of_a_simulation(law: Law, rate: float) -> None:
    response = ProcessorSharing(rate_rps=rate, service=law).solve().response
    times = _shared(law, rate)
    for t in (0.8, 1.9, 4.2, 9.1):
        assert agrees((times > t).astype(float), float(response.sf(t))), t


def test_the_law_has_the_known_variance() -> None:
    queue = ProcessorSharing(rate_rps=0.6, service=Uniform(low=0.2, high=1.8))
    response = queue.solve().response
    node, weight = np.polynomial.legendre.leggauss(10)
    mean, half_second = 0.2, 0.02  # up to the least size
    for low, high in ((0.2, 1.8), (1.8, 6.0), (6.0, 20.0), (20.0, 70.0)):
        t = low + (high - low) * (1 + node) / 2
        tail = response.sf(t) * weight * (high - low) / 2
        mean, half_second = mean + tail.sum(), half_second + tail @ t
    assert mean == pytest.approx(response.mean_s, rel=1e-4)
    assert 2 * half_second - mean**2 == pytest.approx(response.var_s2, rel=1e-3)
    assert response.var_s2 == queue.var_response_s2()


def test_a_change_of_the_unit_of_time_changes_times_alone() -> None:
    one = ProcessorSharing(rate_rps=0.7, service=Lognormal(mean=1.0, cv=1.5)).solve().response
    other = ProcessorSharing(rate_rps=700.0, service=Lognormal(mean=1e-3, cv=1.5)).solve().response
    assert other.sf(4e-3) == pytest.approx(float(one.sf(4.0)), abs=1e-8)


def test_limited_sharing_of_exponential_sizes_lies_between_its_limits() -> None:
    one, some, many = (
        LimitedProcessorSharing(rate_rps=0.8, service=Exponential(mean=1.0), limit=k).solve()
        for k in (1, 4, 300)
    )
    plain = MMc(rate_rps=0.8, service_rate_rps=1.0, n_servers=1).solve()
    shared = MM1PS(rate_rps=0.8, service_rate_rps=1.0).solve()
    assert one.response.ppf(0.99) == pytest.approx(float(plain.response.ppf(0.99)), rel=1e-8)
    assert many.response.ppf(0.99) == pytest.approx(float(shared.response.ppf(0.99)), rel=1e-8)
    assert plain.response.var_s2 < some.response.var_s2 < shared.response.var_s2
    assert some.wait.mean_s == pytest.approx(some.mean_wait_s)
    assert some.mean_queue == pytest.approx(sum((n - 4) * some.number_pmf(n) for n in range(5, 400)))


def test_equal_weights_share_equally() -> None:
    equal = DiscriminatoryPS(rate_rps=[0.3, 0.4], service_rate_rps=[1.0, 1.0], weight=[1.0, 1.0]).solve()
    shared = MM1PS(rate_rps=0.7, service_rate_rps=1.0).solve()
    for law in equal.response_by_class:
        assert law.ppf(0.99) == pytest.approx(float(shared.response.ppf(0.99)), rel=1e-8)
        assert law.var_s2 == pytest.approx(shared.var_response_s2, rel=1e-8)
    for n in (0, 3, 9):
        assert equal.number_pmf(n) == pytest.approx(shared.number_pmf(n), rel=1e-9)


def test_weights_part_the_laws_of_the_classes() -> None:
    answer = DiscriminatoryPS(rate_rps=[0.3, 0.4], service_rate_rps=[1.0, 2.0], weight=[2.0, 1.0]).solve()
    for pmf, mean in zip(answer.number_pmf_by_class, answer.mean_number_by_class, strict=True):
        law = np.array([pmf(n) for n in range(200)])
        assert law @ np.arange(200) == pytest.approx(mean, rel=1e-8)
    favoured = DiscriminatoryPS(rate_rps=[0.3, 0.3], service_rate_rps=[1.0, 1.0], weight=[4.0, 1.0]).solve()
    first, second = favoured.response_by_class
    assert all(first.sf(t) < second.sf(t) for t in (0.5, 3.0, 10.0))


def test_too_many_states_are_said() -> None:
    full = DiscriminatoryPS(rate_rps=[0.5, 0.49], service_rate_rps=[1.0, 1.0], weight=[2.0, 1.0]).solve()
    with pytest.raises(ConvergenceError, match="states at this load"):
        full.number_pmf(3)
