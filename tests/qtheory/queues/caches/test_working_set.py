"""Caches under requests with a memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.queues.caches import WorkingSetCache, reuse_times, stack_distances

ITEMS = st.lists(st.integers(0, 12), min_size=1, max_size=80)


@given(ITEMS)
def test_distances_are_counts_of_different_items(items: list[int]) -> None:
    found = stack_distances(items)
    for i, item in enumerate(items):
        before = [j for j in range(i) if items[j] == item]
        wanted = len(set(items[before[-1] : i])) if before else 0
        assert found[i] == wanted


@given(ITEMS, st.integers(1, 15))
def test_distances_tell_the_hits_of_lru(items: list[int], capacity: int) -> None:
    cache: list[int] = []
    hits = []
    for item in items:
        hits.append(item in cache)
        cache = [item, *[other for other in cache if other != item]][:capacity]
    distance = stack_distances(items)
    assert ((distance > 0) & (distance <= capacity)).tolist() == hits


@given(ITEMS)
def test_reuse_times_reach_the_next_request(items: list[int]) -> None:
    found = reuse_times(items)
    for i, item in enumerate(items):
        later = [j for j in range(i + 1, len(items)) if items[j] == item]
        assert found[i] == (later[0] - i if later else np.inf)


@settings(max_examples=60)
@given(
    st.lists(st.one_of(st.floats(0.01, 100), st.just(np.inf)), min_size=1, max_size=60), st.floats(0.01, 50)
)
def test_the_window_holds_what_fits(reuse: list[float], capacity: float) -> None:
    answer = WorkingSetCache(rate_rps=3.0, reuse_s=reuse, capacity=capacity).solve()
    if np.isfinite(answer.window_s):
        held = 3.0 * np.minimum(reuse, answer.window_s).mean()
        assert held == pytest.approx(capacity, rel=1e-9)
        assert answer.hit_frac == pytest.approx(
            np.mean(np.array(reuse) <= answer.window_s * (1 + 1e-12)), abs=1 / len(reuse)
        )
    else:
        assert 3.0 * np.mean(reuse) <= capacity * (1 + 1e-9)
        assert answer.hit_frac == 1.0


def test_reuse_that_is_near_in_time_is_seen() -> None:
    rng = np.random.default_rng(3)
    fresh = np.arange(20_000)
    items: list[int] = []
    for i in fresh:  # each new item comes back after about ten others, then never
        items.append(int(i))
        if i >= 10 and rng.random() < 0.5:
            items.append(int(i) - 10)
    distance = stack_distances(items)
    hits = ((distance > 0) & (distance <= 30)).mean()
    cache = WorkingSetCache(rate_rps=1.0, reuse_s=reuse_times(items), capacity=30)
    assert cache.solve().hit_frac == pytest.approx(hits, abs=0.01)


def test_what_cannot_be_is_named() -> None:
    with pytest.raises(ConfigError, match="must not fall"):
        reuse_times(["a", "b"], [1.0, 0.5])
    with pytest.raises(ConfigError, match="1 given for 2"):
        reuse_times(["a", "b"], [1.0])
    with pytest.raises(ConfigError, match="reuse_s"):
        WorkingSetCache(rate_rps=1.0, reuse_s=[-1.0], capacity=1.0)
    with pytest.raises(ConfigError, match="capacity"):
        WorkingSetCache(rate_rps=1.0, reuse_s=[1.0], capacity=0.0)
