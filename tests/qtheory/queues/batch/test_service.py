"""Service times of batches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.laws import Discrete, Exponential, Lognormal
from qtheory.laws.max_of import MaxOf
from qtheory.queues.batch import AffineService, LongestMemberService


@settings(max_examples=15)
@given(st.integers(1, 50), st.floats(0.1, 10))
def test_the_longest_of_exponentials_has_harmonic_mean_length(n: int, mean: float) -> None:
    law = MaxOf(law=Exponential(mean=mean), n=n, shift=1.0, factor=2.0)
    steps = 1 / np.arange(1, n + 1)
    assert law.mean == pytest.approx(1 + 2 * mean * steps.sum(), rel=1e-6)
    assert law.var == pytest.approx(4 * mean**2 * (steps**2).sum(), rel=1e-5)
    assert law.cdf(law.ppf(0.37)) == pytest.approx(0.37, rel=1e-9)
    assert law.ppf(1 - 1e-9) == pytest.approx(1 + 2 * Exponential(mean=mean).ppf(1 - 1e-9 / n), rel=1e-6)


def test_the_longest_of_given_lengths_is_a_list_of_lengths() -> None:
    service = LongestMemberService(length=Discrete(values=[1, 3], probs=[0.5, 0.5]), unit_s=0.1, base_s=1.0)
    law = service(3)
    assert law.mean == pytest.approx(1 + 0.1 * (1 / 8 + 3 * 7 / 8))
    assert isinstance(law, Discrete)


def test_draws_are_maxima() -> None:
    law = MaxOf(law=Lognormal(mean=1.0, cv=1.0), n=5)
    drawn = law.sample(np.random.default_rng(1), 40_000)
    assert abs(drawn.mean() - law.mean) < 4 * drawn.std() / 200
    assert law.scaled(3.0).mean == pytest.approx(3 * law.mean)


def test_bad_numbers_are_named() -> None:
    with pytest.raises(ConfigError, match="scv"):
        AffineService(base_s=1.0, slope_s=0.0, scv=-1.0)
    with pytest.raises(ConfigError, match="one of them must be > 0"):
        AffineService(base_s=0.0, slope_s=0.0)
    with pytest.raises(ConfigError, match="length"):
        LongestMemberService(length=3, unit_s=1.0)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="law"):
        MaxOf(law="x", n=2)  # type: ignore[arg-type]
