"""Caches under independent requests."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.queues.caches import PopularityCache, stack_distances, zipf


def _exact_lru(q: np.ndarray, capacity: int) -> float:
    """Hit rate of LRU: the last different items, in order, have King's product form."""
    hit = 0.0
    for kept in permutations(range(len(q)), capacity):
        p, left = 1.0, 1.0
        for item in kept:
            p *= q[item] / left
            left -= q[item]
        hit += p * q[list(kept)].sum()
    return hit


@pytest.mark.parametrize("capacity", [1, 3, 5])
def test_few_items_are_close_to_the_exact_law(capacity: int) -> None:
    q = zipf(n_items=8, exponent=0.8)
    found = PopularityCache(popularity=q, capacity=capacity).solve().hit_frac
    assert found == pytest.approx(_exact_lru(q, capacity), rel=0.06)


@pytest.mark.parametrize("capacity", [10, 100, 400])
def test_many_items_agree_with_a_simulation(capacity: int) -> None:
    q = zipf(n_items=1000, exponent=0.9)
    trace = np.random.default_rng(1).choice(1000, size=40_000, p=q).tolist()
    distance = stack_distances(trace)[10_000:]
    hits = ((distance > 0) & (distance <= capacity)).mean()
    assert PopularityCache(popularity=q, capacity=capacity).solve().hit_frac == pytest.approx(hits, abs=0.01)


def test_random_replacement_agrees_with_a_simulation() -> None:
    rng = np.random.default_rng(2)
    q = zipf(n_items=200, exponent=1.0)
    held, inside, hits = list(range(30)), set(range(30)), 0
    trace = rng.choice(200, size=60_000, p=q).tolist()
    for i, item in enumerate(trace):
        if item in inside:
            hits += i >= 10_000
            continue
        place = int(rng.integers(30))
        inside -= {held[place]}
        inside |= {item}
        held[place] = item
    for policy in ("random", "fifo"):
        found = PopularityCache(popularity=q, capacity=30, policy=policy).solve().hit_frac
        assert found == pytest.approx(hits / 50_000, abs=0.01)


@settings(max_examples=40)
@given(
    st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=50),
    st.floats(0.05, 0.95),
    st.sampled_from(["lru", "fifo"]),
)
def test_the_cache_is_full_and_prefers_what_is_popular(
    weights: list[float], share: float, policy: str
) -> None:
    size = np.linspace(1.0, 3.0, len(weights))
    total = float(size.sum())
    cache = PopularityCache(popularity=weights, capacity=share * total, size=size, policy=policy)
    hits = cache.solve().hit_frac_by_item
    assert hits @ size == pytest.approx(share * size.sum(), rel=1e-9)
    order = np.argsort(weights)
    assert np.all(np.diff(hits[order]) >= -1e-12)
    more = PopularityCache(
        popularity=weights, capacity=min(share * 1.05, 1.0) * size.sum(), size=size, policy=policy
    )
    assert more.solve().hit_frac >= cache.solve().hit_frac


def test_lru_is_not_worse_than_fifo_and_everything_fits_at_last() -> None:
    q = zipf(n_items=300, exponent=1.1)
    hits = [
        PopularityCache(popularity=q, capacity=40, policy=policy).solve().hit_frac
        for policy in ("lru", "fifo")
    ]
    assert hits[0] > hits[1]
    assert PopularityCache(popularity=q, capacity=300).solve().hit_frac == 1.0


def test_what_cannot_be_is_named() -> None:
    with pytest.raises(ConfigError, match="did you mean 'fifo'"):
        PopularityCache(popularity=[1.0], capacity=1, policy="fif")
    with pytest.raises(ConfigError, match="popularity: -1 must be"):
        PopularityCache(popularity=[1.0, -1.0], capacity=1)
    with pytest.raises(ConfigError, match="size: 1 given for 2"):
        PopularityCache(popularity=[1.0, 1.0], capacity=1, size=[1.0])
    with pytest.raises(ConfigError, match="capacity"):
        PopularityCache(popularity=[1.0], capacity=0)
    with pytest.raises(ConfigError, match="exponent"):
        zipf(n_items=3, exponent=-1.0)
