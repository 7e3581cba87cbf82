"""Moments of the longest of several: between ends, and of one alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qtheory.laws import MaxOf, parse_law


@pytest.mark.parametrize("n", [1, 2, 8, 100])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_longest_of_uniform_times_has_the_moments_of_a_beta_law(n: int, k: int) -> None:
    longest = MaxOf(law=parse_law("uniform(low=1, high=10)", where="length"), n=n)
    power = [n / (n + i) for i in range(k + 1)]  # E[max^i] on [0, 1]
    wanted = math.fsum(math.comb(k, i) * 9**i * power[i] for i in range(k + 1))
    assert longest.moment(k) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(
    "text", ["lognormal(mean=1, cv=1.5)", "discrete(values=[1, 2, 5], probs=[0.2, 0.3, 0.5])"]
)
def test_the_longest_of_one_is_that_one(text: str) -> None:
    law = parse_law(text, where="length")
    longest = MaxOf(law=law, n=1, shift=0.5, factor=2.0)
    assert longest.moment(2) == pytest.approx(0.25 + 2 * law.mean + 4 * law.moment(2), rel=1e-12)


@pytest.mark.parametrize("n", [1, 3, 8, 64])
def test_the_transform_of_the_longest_of_uniform_times_is_its_integral(n: int) -> None:
    longest = MaxOf(law=parse_law("uniform(low=1, high=10)", where="length"), n=n, shift=0.2, factor=0.1)
    place, weight = np.polynomial.legendre.leggauss(400)
    u = (1.0 + place) / 2
    s = np.array([0.0, 1e-9, 0.3, n / 0.9, 5 + 40j, 0.1 + 7j, 30.0, 200j, 2 + 0.9j * n])
    found = longest.lst(s)
    wanted = np.exp(-s[:, None] * (0.3 + 0.9 * u)) @ (weight / 2 * n * u ** (n - 1))
    assert np.abs(found - wanted).max() < 1e-11  # as good as the nodes are
