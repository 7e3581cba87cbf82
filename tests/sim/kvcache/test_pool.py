"""The block pool: references, free order, copies under one key."""

from __future__ import annotations

import pytest

from qtheory.basics.errors import ConfigError
from sim.kvcache import BlockPool


def test_blocks_without_a_key_return_to_the_front_together_and_in_the_order_of_release():
    pool = BlockPool(6)
    pool.take(3)
    pool.release([2, 1, 0])
    assert pool.free_order() == [2, 1, 0, 3, 4, 5]


def test_blocks_with_a_key_return_to_the_back():
    pool = BlockPool(5)
    pool.take(3)
    pool.publish(0, key=10)
    pool.publish(1, key=11)
    pool.release([2, 1, 0])
    assert pool.free_order() == [2, 3, 4, 1, 0]


def test_taking_a_cached_block_forgets_its_contents_and_says_so():
    pool = BlockPool(2)
    pool.take(2)
    pool.publish(1, key=5)
    pool.release([1, 0])
    evicted = []
    assert pool.take(2, evicted) == [0, 1]
    assert evicted == [1]
    assert pool.match([5]) == []


def test_a_hit_takes_a_free_block_out_of_the_order():
    pool = BlockPool(3)
    pool.take(1)
    pool.publish(0, key=5)
    pool.release([0])
    pool.share([0])
    assert pool.free_order() == [1, 2]
    assert pool.all_refs() == {0: 1}


def test_a_second_copy_serves_when_the_first_is_gone():
    pool = BlockPool(2)
    pool.take(2)
    pool.publish(0, key=5)
    pool.publish(1, key=5)
    assert pool.match([5]) == [0]
    pool.release([0])
    pool.take(1)
    assert pool.match([5]) == [1]


def test_a_match_stops_at_the_first_missing_key():
    pool = BlockPool(3)
    pool.take(3)
    for block, key in ((0, 1), (2, 3)):
        pool.publish(block, key=key)
    assert pool.match([1, 2, 3]) == [0]


def test_a_reset_needs_an_idle_pool():
    pool = BlockPool(2)
    pool.take(1)
    pool.publish(0, key=5)
    assert not pool.reset()
    assert pool.match([5]) == [0]
    pool.release([0])
    assert pool.reset()
    assert pool.match([5]) == []


def test_a_pool_has_at_least_one_block():
    with pytest.raises(ConfigError, match="n_blocks"):
        BlockPool(0)
