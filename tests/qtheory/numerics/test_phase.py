"""Exponentials of generators and tails of phase-type times."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

from qtheory.basics.errors import ConfigError
from qtheory.numerics.phase import check_subgenerator, exp_generator, phase_tail


def _random(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    q = rng.random((n, n)) ** 4
    np.fill_diagonal(q, 0.0)
    np.fill_diagonal(q, -q.sum(axis=1) - rng.random(n))
    return q


@given(st.integers(1, 8), st.integers(0, 2**32 - 1), st.floats(1e-6, 50))
def test_exponentials_agree_with_the_library(n: int, seed: int, t: float) -> None:
    q = _random(n, seed)
    assert exp_generator(q, t) == pytest.approx(expm(t * q), rel=1e-10, abs=1e-13)


@given(st.floats(1e-12, 1e-3), st.floats(0.1, 30))
def test_almost_equal_rates_keep_their_digits(gap: float, t: float) -> None:
    q = np.array([[-1.0, 1.0], [0.0, -1.0 - gap]])
    both = math.exp(-t) * -math.expm1(-gap * t) / gap
    assert exp_generator(q, t)[0, 1] == pytest.approx(both, rel=1e-12)


def test_tiny_entries_are_relatively_exact() -> None:
    q = np.diag(-np.ones(12)) + np.diag(np.ones(11), 1)  # an Erlang time: entry 1, k+1 is Poisson
    found = exp_generator(q, 1e-2)[0]
    wanted = [math.exp(-1e-2) * 1e-2**k / math.factorial(k) for k in range(12)]
    assert found == pytest.approx(wanted, rel=1e-12)


def test_many_times_at_once_are_one_time_each() -> None:
    q = _random(3, 1)
    t = np.array([[0.0, 0.5], [3.0, 40.0]])
    found = phase_tail(np.array([0.2, 0.3, 0.5]), q, t)
    assert found.shape == t.shape
    assert found == pytest.approx(
        np.array([[np.array([0.2, 0.3, 0.5]) @ expm(x * q) @ np.ones(3) for x in row] for row in t])
    )


def test_what_is_no_subgenerator_is_named() -> None:
    for q, wrong in (
        (np.ones((1, 2)), "square"),
        (np.array([[1.0]]), "sums"),
        (np.array([[np.inf]]), "finite"),
    ):
        with pytest.raises(ConfigError, match=wrong):
            check_subgenerator("rates", q)
    with pytest.raises(ConfigError, match="off the diagonal"):
        check_subgenerator("rates", np.array([[-1.0, -0.5], [0.0, -1.0]]))
