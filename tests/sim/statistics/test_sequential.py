"""When to stop: precise enough, out of budget, or never to be reached."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from sim.statistics import Sequential, stability


def _study(rule, rng, draw, n_each=1_000):
    """All replications until the rule stops, and its last word."""
    values = np.empty(0)
    while (said := rule.decide(values, n_requests=n_each * len(values))).go_on:
        values = np.append(values, draw(rng, said.n_more))
    return values, said


def test_the_first_word_asks_for_the_least_number():
    rule = Sequential(min_replications=7)
    assert rule.decide([], n_requests=0).n_more == 7
    said = rule.decide([1.0, 1.1], n_requests=200)
    assert (said.go_on, said.n_more, said.reached) == (True, 5, False)


def test_a_study_ends_with_the_precision_asked_for_and_covers():
    rule, covered, n_studies = Sequential(precision=0.05), 0, 300
    for seed in range(n_studies):
        values, said = _study(rule, np.random.default_rng(seed), lambda rng, n: rng.gamma(20.0, 0.05, size=n))
        assert said.reached
        assert said.interval.n_replications == len(values) >= 10
        assert said.interval.relative_half_width <= 0.05
        covered += said.interval.contains(1.0)
    assert covered / n_studies > 0.93 - 4 * np.sqrt(0.93 * 0.07 / n_studies)


def test_a_study_at_most_doubles_at_a_time():
    said = Sequential(precision=0.01).decide(np.tile([1.0, 2.0], 5), n_requests=1_000)
    assert said.n_more == 10


def test_a_budget_too_small_is_announced_and_then_kept():
    rule = Sequential(precision=0.001, max_requests=30_000)
    values, said = _study(rule, np.random.default_rng(1), lambda rng, n: rng.exponential(size=n))
    assert len(values) == 30
    assert not said.reached
    assert "max_requests=30000 is used up" in said.reason
    early = rule.decide(values[:10], n_requests=10_000)
    assert early.go_on
    assert "more than max_requests=30000 allows" in early.reason


def test_a_mean_of_zero_ends_the_study_with_its_reason():
    rule = Sequential(precision=0.01, max_requests=1_000_000)
    values, said = _study(rule, np.random.default_rng(1), lambda rng, n: rng.normal(size=n))
    assert not said.reached
    assert "may be zero" in said.reason
    assert len(values) < 1_000
    assert "may be zero" in rule.decide(np.zeros(10), n_requests=1_000).reason


def test_an_overloaded_system_ends_the_study(queue):
    time_s, wait_s, _ = queue(1.3).path(np.random.default_rng(1), 5_000)
    said = Sequential().decide([1.0, 2.0], n_requests=10_000, stability=stability(time_s, wait_s))
    assert not said.go_on
    assert said.reason.startswith("overloaded")


def test_rules_that_cannot_be_followed_are_refused():
    with pytest.raises(ConfigError, match="precision"):
        Sequential(precision=0.0)
    with pytest.raises(ConfigError, match="min_replications"):
        Sequential(min_replications=1)
    with pytest.raises(ConfigError, match="n_requests: 0"):
        Sequential().decide([1.0], n_requests=0)
