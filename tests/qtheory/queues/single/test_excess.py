"""The excess of a law: exact where it is small, large and heavy-tailed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.laws import (
    Constant,
    Discrete,
    Exponential,
    Gamma,
    Hyperexponential,
    Law,
    Lognormal,
    Mixture,
    Truncated,
    Uniform,
    Weibull,
)
from qtheory.queues.single import Excess
from qtheory.queues.single.excess import tail_quadrature

LAWS: list[Law] = [
    Constant(value=2.0),
    Exponential(mean=0.5),
    Gamma(mean=1.0, cv=1.7),
    Uniform(low=0.5, high=2.0),
    Discrete(values=[0.5, 3.0], probs=[0.8, 0.2]),
    Hyperexponential(probs=[0.9, 0.1], means=[0.5, 5.0]),
    Lognormal(mean=1.0, cv=2.0),
    Weibull(shape=0.7, scale=1.0),
    Truncated(law=Lognormal(mean=1.0, cv=1.0), low=0.01, high=8.0),
    Mixture(laws=[Constant(value=1.0), Exponential(mean=3.0)], weights=[0.5, 0.5]),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_transforms_agree_with_quadrature_of_the_tail(law: Law) -> None:
    excess = Excess(law=law)
    x = np.linspace(0, 400 * law.mean, 400_001)
    s = np.array([0.4, 0.05, 0.3 + 0.9j]) / law.mean
    tail = np.asarray(law.sf(x))
    for value, wanted in zip(excess.lst(s), s, strict=True):
        direct = np.trapezoid(np.exp(-wanted * x) * tail, x) / law.mean
        assert abs(value - direct) < 2e-3 * abs(direct)


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("size", [1e-12, 1e-9, 1e-6, 1e-4])
def test_small_arguments_keep_their_digits(law: Law, size: float) -> None:
    excess = Excess(law=law)
    s = np.array([size + 0j]) / law.mean
    second, third = excess.moment(2), law.moment(4) / (4 * law.mean)
    x = s[0].real
    # 1 - m2 x / (2 m1) + ..., from the moments of the excess
    wanted = 1 - x * second / (2 * excess.mean_s) + x**2 * third / (6 * excess.mean_s)
    assert abs(excess.deficit(s)[0] - wanted) <= 1e-13 + 2 * abs(x) ** 3 * law.moment(5) / law.mean


@given(st.floats(1e-9, 1e9), st.sampled_from(LAWS[:6]))
def test_the_unit_of_time_does_not_matter(scale: float, law: Law) -> None:
    s = np.array([0.01, 0.2 + 1.0j, 30.0])
    first = Excess(law=law).transforms(s)
    scaled = Excess(law=law.scaled(scale)).transforms(s / scale)
    for a, b in zip(first, scaled, strict=True):
        assert np.abs(a - b).max() < 1e-12


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_tail_has_the_moments(law: Law) -> None:
    excess = Excess(law=law)
    assert excess.mean_s == pytest.approx(law.moment(2) / (2 * law.mean))
    t = np.array([0.0, 0.3, 1.0, 4.0])
    assert excess.sf(t)[0] == pytest.approx(1.0)
    assert np.all(np.diff(excess.sf(t)) <= 0)


def test_the_excess_of_an_exponential_is_itself() -> None:
    excess = Excess(law=Exponential(mean=2.0))
    t = np.array([0.5, 2.0, 9.0])
    assert excess.sf(t) == pytest.approx(np.exp(-t / 2), rel=1e-12)


def test_the_quadrature_integrates_the_tail_of_a_heavy_law() -> None:
    law = Lognormal(mean=3.0, cv=4.0)
    x, weight = tail_quadrature(law)
    assert float(weight.sum()) == pytest.approx(3.0, rel=1e-12)
    assert float(2 * weight @ x) == pytest.approx(law.moment(2), rel=1e-9)


def test_what_is_no_law_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"law: 3.0 is not a law; give one of qtheory\.laws"):
        Excess(law=3.0)  # type: ignore[arg-type]
