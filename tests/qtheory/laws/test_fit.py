"""Laws fitted to two moments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant, Erlang, Exponential, Mixture, fit_two_moments

MEANS = st.floats(1e-4, 1e6)


@given(MEANS, st.floats(1e-4, 1e4), st.sampled_from(["phases", "gamma", "lognormal"]))
def test_the_fit_has_the_moments_it_was_given(mean, scv, family):
    law = fit_two_moments(mean, scv, family=family)
    assert law.mean == pytest.approx(mean, rel=1e-10)
    assert law.scv == pytest.approx(scv, rel=1e-7)


@given(MEANS, st.integers(1, 500))
def test_whole_numbers_of_phases_give_plain_erlang_laws(mean, k):
    law = fit_two_moments(mean, 1.0 / k)
    assert law == (Erlang(k=k, mean=mean) if k > 1 else Exponential(mean=mean))


def test_between_two_whole_numbers_neighbouring_phases_of_one_rate_are_mixed():
    law = fit_two_moments(3.0, 0.4)  # 1/3 < 0.4 < 1/2
    assert isinstance(law, Mixture)
    assert [part.k for part in law.laws] == [2, 3]
    assert law.laws[0].mean / 2 == pytest.approx(law.laws[1].mean / 3)


def test_two_phases_bring_half_of_the_mean_each():
    law = fit_two_moments(2.0, 9.0)
    shares = [p * m for p, m in zip(law.probs, law.means, strict=True)]
    assert shares == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("family", ["phases", "gamma", "lognormal"])
def test_no_variance_is_constant(family):
    assert fit_two_moments(5.0, 0.0, family=family) == Constant(value=5.0)


def test_impossible_moments_are_refused():
    with pytest.raises(ConfigError, match=r"scv: -0\.5 must be >= 0"):
        fit_two_moments(1.0, -0.5)
    with pytest.raises(ConfigError, match="mean: 0 must be > 0"):
        fit_two_moments(0, 1.0)
    with pytest.raises(ConfigError, match="did you mean 'gamma'"):
        fit_two_moments(1.0, 1.0, family="gama")
