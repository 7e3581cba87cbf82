"""Paired differences: Student's test, verdicts, and errors over a family."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from qtheory.basics.errors import ConfigError
from sim.statistics import compare_all, paired_difference


@pytest.mark.parametrize("seed", range(10))
def test_p_values_are_those_of_the_paired_test(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, 8))
    seen = paired_difference(a, b)
    want = stats.ttest_rel(a, b)
    assert seen.p_value == pytest.approx(want.pvalue)
    assert (seen.difference.low, seen.difference.high) == pytest.approx(tuple(want.confidence_interval(0.95)))
    assert (seen.verdict == "no difference") == (want.pvalue >= 0.05)


def test_verdicts_name_the_lower_one():
    base, noise = np.arange(10.0), np.random.default_rng(1).normal(scale=0.1, size=10)
    assert paired_difference(base, base + 1 + noise).verdict == "a lower"
    assert paired_difference(base + 1, base + noise).verdict == "b lower"
    assert paired_difference(base + 1, base + noise, names=("fcfs", "sjf")).verdict == "sjf lower"


def test_the_same_numbers_make_no_difference():
    seen = paired_difference([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert (seen.verdict, seen.p_value, seen.difference.half_width) == ("no difference", 1.0, 0.0)


def test_a_constant_shift_is_a_difference_for_certain():
    seen = paired_difference([1.0, 2.0, 3.0], [1.5, 2.5, 3.5])
    assert (seen.verdict, seen.p_value) == ("a lower", 0.0)


def test_common_random_numbers_find_what_independent_runs_do_not(queue):
    slow, fast = queue(0.82), queue(0.8)
    a = [slow.waits(np.random.default_rng(i), 4_000).mean() for i in range(10)]
    b = [fast.waits(np.random.default_rng(i), 4_000).mean() for i in range(10)]
    other = [fast.waits(np.random.default_rng(100 + i), 4_000).mean() for i in range(10)]
    assert paired_difference(a, b).verdict == "b lower"
    assert paired_difference(a, other).verdict == "no difference"


def test_a_family_of_equals_is_called_different_no_more_often_than_said():
    n_studies, wrong = 1_000, 0
    for seed in range(n_studies):
        values = np.random.default_rng(seed).normal(size=(4, 6))
        seen = compare_all(dict(zip("abcd", values, strict=True)), level=0.9)
        wrong += any(one.verdict != "no difference" for one in seen)
    assert wrong / n_studies < 0.1 + 4 * np.sqrt(0.1 * 0.9 / n_studies)


def test_a_family_of_two_is_a_single_comparison():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 8))
    assert compare_all({"a": a, "b": b}) == (paired_difference(a, b),)


def test_comparisons_that_cannot_be_made_are_refused():
    with pytest.raises(ConfigError, match="sjf: 2 replications, but fcfs has 3"):
        compare_all({"fcfs": [1.0, 2.0, 3.0], "sjf": [1.0, 2.0]})
    with pytest.raises(ConfigError, match="needs two"):
        compare_all({"fcfs": [1.0, 2.0]})
    with pytest.raises(ConfigError, match="n_comparisons"):
        paired_difference([1.0, 2.0], [2.0, 1.0], n_comparisons=0)
