"""Whole numbers: the rule, the atoms, the far tail."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qtheory.laws import Constant, Empirical, Exponential, Gamma, Lognormal, Pareto, Rounded, Truncated


def test_halves_go_up_and_the_ends_hold():
    law = Rounded(law=Exponential(mean=1.0), low=1, high=4)
    assert law.rounded(np.array([0.0, 0.49, 1.49, 1.5, 2.5, 9.0])).tolist() == [1, 1, 1, 2, 3, 4]


@pytest.mark.parametrize("high", [None, 7, 64])
def test_the_atoms_are_what_sampling_gives(high):
    law = Rounded(law=Gamma(mean=5.0, cv=1.5), low=1, high=high)
    values, probs = law.atoms()
    assert probs.sum() == pytest.approx(1.0, abs=1e-12)
    n = 50_000
    drawn = law.sample(np.random.default_rng(11), n)
    for value, prob in zip(values[:8], probs[:8], strict=False):
        assert abs(np.mean(drawn == value) - prob) <= 4.0 * math.sqrt(prob * (1 - prob) / n)
    assert abs(drawn.mean() - law.mean) <= 4.0 * math.sqrt(law.var / n)


def test_geometric_law_from_an_exponential_one():
    law = Rounded(law=Exponential(mean=10.0), low=0)
    ratio = math.exp(-0.1)
    values, probs = law.atoms()
    assert values[:4].tolist() == [0, 1, 2, 3]
    assert probs[2] / probs[1] == pytest.approx(ratio, rel=1e-9)
    assert law.mean == pytest.approx(math.exp(-0.05) / (1 - ratio), rel=1e-12)


def test_whole_numbers_stay_as_they_are():
    given = Empirical(values=[2, 3, 3, 9])
    assert Rounded(law=given).atoms()[1].tolist() == given.atoms()[1].tolist()
    assert Rounded(law=Constant(value=192)).atoms()[0].tolist() == [192.0]


def test_far_beyond_the_single_atoms_mean_and_variance_hold():
    law = Rounded(law=Lognormal(mean=50_000.0, cv=2.0))
    values, _ = law.atoms()
    assert len(values) < 80_000
    assert values[-1] > 1e7
    assert law.mean == pytest.approx(50_000.0, rel=1e-9)
    assert law.scv == pytest.approx(4.0, rel=1e-5)


def test_a_cap_beyond_the_single_atoms_takes_what_lies_above():
    law = Rounded(law=Lognormal(mean=50_000.0, cv=2.0), high=131_072)
    values, probs = law.atoms()
    assert values[-1] == 131_072
    assert probs[-1] == pytest.approx(law.law.sf(131_071.5), rel=1e-12)
    below = law.law.moment_between(1, 0.0, 131_071.5)
    assert law.mean == pytest.approx(below + 131_072 * probs[-1], rel=1e-9)


def test_an_infinite_mean_is_said():
    from qtheory.basics.errors import ConfigError

    with pytest.raises(ConfigError, match="moment 1 is infinite"):
        Rounded(law=Pareto(alpha=0.9, low=10.0)).atoms()


def test_truncation_draws_again_while_rounding_moves_to_the_end():
    inner = Exponential(mean=100.0)
    assert Truncated(law=inner, low=1, high=50).mean < Rounded(law=inner, low=1, high=50).mean
