"""Poisson probabilities, stationary laws, birth-death laws."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, ConvergenceError
from qtheory.numerics.markov import birth_death, poisson_below, poisson_pmf, poisson_reach, stationary


@pytest.mark.parametrize(("n", "mean"), [(0, 3), (1, 1), (7, 20), (40, 41), (300, 280), (900, 1000)])
def test_poisson_probabilities_match_exact_fractions(n: int, mean: int) -> None:
    exact = Fraction(mean**n, math.factorial(n))
    log = math.log(exact.numerator) - math.log(exact.denominator) - mean
    assert float(poisson_pmf(n, mean)) == pytest.approx(math.exp(log), rel=3e-13)


@given(st.floats(1e-9, 1e6))
def test_poisson_probabilities_and_tails_sum_to_one(mean: float) -> None:
    low, high = max(0, int(mean - 10 * math.sqrt(mean))), int(mean + 10 * math.sqrt(mean)) + 20
    body = poisson_pmf(np.arange(low, high), mean).sum()
    assert body + poisson_below(low, mean) + poisson_reach(high, mean) == pytest.approx(1.0, abs=1e-12)


def test_poisson_probabilities_far_out_are_zero_and_not_a_warning() -> None:
    assert poisson_pmf([-1, 0, 5, 10**9], [1.0, 0.0, 0.0, 1e-9]).tolist() == [0.0, 1.0, 0.0, 0.0]


@given(st.integers(2, 30), st.integers(0, 2**32 - 1))
def test_a_stationary_law_is_kept_by_the_chain(n: int, seed: int) -> None:
    p = np.random.default_rng(seed).random((n, n)) ** 8
    p /= p.sum(axis=1, keepdims=True)
    pi = stationary(p, typical=seed % n)
    assert pi.min() >= 0
    assert pi @ p == pytest.approx(pi, abs=1e-14)


def test_a_chain_that_hardly_mixes_keeps_its_digits() -> None:
    slow = 1e-13
    p = np.array([[0, 1, 0, 0], [1, 0, slow, 0], [0, 3 * slow, 0, 1], [0, 0, 1, 0]])
    assert stationary(p) == pytest.approx([0.375, 0.375, 0.125, 0.125], rel=1e-14)


@pytest.mark.parametrize("n", [3, 300])
@pytest.mark.parametrize("first", [True, False])
def test_states_that_are_left_for_good_have_no_probability(n: int, first: bool) -> None:
    p = np.zeros((n, n))
    p[0, 1] = p[1, 0] = 1.0
    p[2:, :2] = 0.5
    p[2:, 2:] = 0.1 * np.eye(n - 2, k=1)
    wanted = np.array([0.5, 0.5] + [0.0] * (n - 2))
    if first:
        p, wanted = p[::-1, ::-1], wanted[::-1]
    assert stationary(p, typical=n // 2) == pytest.approx(wanted)


def test_separate_classes_and_bad_matrices_are_refused() -> None:
    with pytest.raises(ConvergenceError, match="reach"):
        stationary(np.kron(np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0]])))
    with pytest.raises(ConfigError, match="square"):
        stationary(np.ones((2, 3)))
    with pytest.raises(ConfigError, match=">= 0"):
        stationary(np.array([[0.0, -1.0], [1.0, 0.0]]))


def test_a_million_states_do_not_overflow() -> None:
    n = 10**6
    pmf, beyond = birth_death(np.full(n, 9e5), np.arange(1.0, n + 1))  # Poisson of mean 9e5, cut far out
    assert pmf.sum() + beyond == pytest.approx(1.0, abs=1e-12)
    assert pmf[900_000] == pytest.approx(float(poisson_pmf(900_000, 9e5)), rel=1e-9)


@given(st.floats(0.01, 0.99))
def test_a_geometric_tail_is_the_rest_of_mm1(load: float) -> None:
    pmf, beyond = birth_death([load] * 5, [1.0] * 5, tail_ratio=load)
    assert pmf == pytest.approx((1 - load) * load ** np.arange(6))
    assert beyond == pytest.approx(load**6)


def test_rates_of_zero_are_refused() -> None:
    with pytest.raises(ConfigError, match="> 0"):
        birth_death([1.0, 0.0], [1.0, 1.0])
    with pytest.raises(ConfigError, match="tail_ratio"):
        birth_death([1.0], [1.0], tail_ratio=1.0)
