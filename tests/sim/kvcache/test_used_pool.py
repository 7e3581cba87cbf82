"""Cached contents that are lost by their last use: against the rule written out, block by block."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from sim.kvcache import KvMemory, LastUsePool
from sim.replica import Replica
from sim.testing import ConstantStep


@given(st.permutations(range(6)), st.lists(st.integers(1, 6), max_size=4), st.integers(0, 6))
def test_who_was_used_longest_ago_goes_first_and_of_a_prefix_its_tail(
    release: list[int], used: list[int], n: int
) -> None:
    pool, age = LastUsePool(6), dict.fromkeys(range(6), (0, 0))
    for block in pool.take(6):
        pool.publish(block, key=block + 1)
    for number, length in enumerate(used, start=1):
        pool.use(range(length))
        age |= {block: (number, -block) for block in range(length)}
    pool.release(release)
    expected = sorted(release, key=lambda block: age[block])
    assert sorted(pool.free_order()) == list(range(6))
    assert [age[block] for block in pool.free_order()] == [age[block] for block in expected]
    assert [age[block] for block in pool.take(n)] == [age[block] for block in expected[:n]]
    assert pool.n_free == 6 - n


def lost(eviction: str) -> list[int]:
    """Keys that are lost first: one job ends after another, and has not filled a block since."""
    memory = KvMemory(n_blocks=2, block_tokens=4, prefix_cache=True, eviction=eviction)
    memory.open("early", [], 4)
    memory.publish("early", [1], 4)
    memory.open("late", [], 4)
    memory.publish("late", [2], 4)
    memory.close("late")
    memory.close("early")
    memory.open("new", [], 4)
    return [key for key in (1, 2) if not memory.lookup([key], 5)]


def test_a_job_that_ends_without_a_new_block_has_not_used_its_prefix_again() -> None:
    assert lost("used") == [1]
    assert lost("returned") == [2]


def test_a_hit_is_a_use() -> None:
    memory = KvMemory(n_blocks=3, block_tokens=4, prefix_cache=True, eviction="used")
    for owner, key in (("a", 1), ("b", 2)):
        memory.open(owner, [], 4)
        memory.publish(owner, [key], 4)
        memory.close(owner)
    memory.open("again", memory.lookup([1], 5), 8)
    memory.close("again")
    memory.open("new", [], 8)
    assert memory.lookup([1], 5)
    assert not memory.lookup([2], 5)


def test_an_order_of_eviction_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigError, match="eviction: unknown 'use'"):
        Replica(step_time=ConstantStep(1.0), n_blocks=4, eviction="use")
