"""M/M/1 in time: against the generator's matrix exponential, inversion and limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

from qtheory.basics.errors import ConvergenceError
from qtheory.laws import Exponential
from qtheory.numerics.inversion import invert_laplace
from qtheory.queues.single import MM1, MM1Transient, takacs


@pytest.mark.parametrize("rate", [0.3, 0.8, 1.0, 1.7])
@pytest.mark.parametrize("start", [0, 3, 20])
@pytest.mark.parametrize("time", [0.1, 2.0, 9.0])
def test_probabilities_agree_with_the_matrix_exponential(rate: float, start: int, time: float) -> None:
    n = 120
    generator = np.diag(np.full(n - 1, rate), 1) + np.diag(np.ones(n - 1), -1)
    generator -= np.diag(generator.sum(axis=1))
    wanted = expm(generator * time)[start]
    queue = MM1Transient(rate_rps=rate, service_rate_rps=1.0, time_s=time, initial_number=start)
    found = np.array([queue.number_pmf(k) for k in range(60)])
    assert found == pytest.approx(wanted[:60], abs=1e-9)
    assert found.min() >= 0
    assert queue.mean_number() == pytest.approx(wanted @ np.arange(n), rel=1e-8)


@given(st.floats(0.2, 2.0), st.floats(0.5, 200.0))
def test_the_empty_probability_agrees_with_its_transform(load: float, time: float) -> None:
    law = Exponential(mean=1.0)
    by_inversion = invert_laplace(lambda s: 1 / (s + load * (1 - takacs(s, load, law.lst))), time)
    answer = MM1Transient(rate_rps=load, service_rate_rps=1.0, time_s=time).solve()
    assert answer.prob_empty == pytest.approx(float(by_inversion), abs=1e-9)


@given(st.floats(0.05, 0.9))
def test_after_a_long_time_it_is_the_steady_state(load: float) -> None:
    late = MM1Transient(rate_rps=load, service_rate_rps=1.0, time_s=2e4).solve()
    steady = MM1(rate_rps=load, service_rate_rps=1.0).solve()
    assert late.mean_number == pytest.approx(steady.mean_number, rel=1e-9)
    assert late.prob_empty == pytest.approx(steady.prob_empty, rel=1e-9)


@given(st.floats(1e-9, 1e9))
def test_the_unit_of_time_does_not_matter(scale: float) -> None:
    one = MM1Transient(rate_rps=0.9, service_rate_rps=1.0, time_s=7.0, initial_number=2)
    other = MM1Transient(
        rate_rps=0.9 / scale, service_rate_rps=1 / scale, time_s=7.0 * scale, initial_number=2
    )
    assert other.mean_number() == pytest.approx(one.mean_number(), rel=1e-10)
    assert other.number_pmf(4) == pytest.approx(one.number_pmf(4), abs=1e-12)


def test_critical_load_grows_with_the_square_root_of_time() -> None:
    answer = MM1Transient(rate_rps=1.0, service_rate_rps=1.0, time_s=1e8).solve()
    assert answer.mean_number == pytest.approx(2 * np.sqrt(1e8 / np.pi), rel=1e-4)


def test_at_the_start_nothing_has_moved() -> None:
    queue = MM1Transient(rate_rps=0.7, service_rate_rps=1.0, time_s=0.0, initial_number=3)
    assert [round(queue.number_pmf(n), 12) for n in range(5)] == [0.0, 0.0, 0.0, 1.0, 0.0]


def test_too_many_events_far_from_the_start_are_refused() -> None:
    with pytest.raises(ConvergenceError, match="shorter time"):
        MM1Transient(rate_rps=2.0, service_rate_rps=1.0, time_s=1e7).number_pmf(10_000_000)
