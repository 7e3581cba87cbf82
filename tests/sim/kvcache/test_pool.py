"""The block pool: references, free order, copies under one key."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_blocks_that_nobody_used_take_no_memory():
    tracemalloc.start()
    try:
        pool = BlockPool(10**9)
        first = pool.take(100)
        pool.publish(first[0], key=1)
        pool.release(first[::-1])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100_000
    assert pool.n_free == 10**9
    assert pool.take(101) == [*range(99, 0, -1), 100, 101]


def test_blocks_that_came_back_with_a_key_are_taken_last():
    pool = BlockPool(4)
    pool.take(2)
    pool.publish(0, key=5)
    pool.release([0, 1])
    assert pool.free_order() == [1, 2, 3, 0]
    evicted = []
    assert pool.take(4, evicted) == [1, 2, 3, 0]
    assert evicted == [0]


def test_a_block_shared_before_anybody_took_it_leaves_its_place_and_no_other():
    pool = BlockPool(5)
    pool.take(1)
    pool.share([3])
    assert pool.free_order() == [1, 2, 4]
    pool.release([3])
    assert pool.free_order() == [3, 1, 2, 4]


class Plain:
    """The same pool, in one list: the front is taken first."""

    def __init__(self, n):
        self.free, self.refs, self.keys = list(range(n)), {}, {}

    def take(self, n):
        taken, self.free = self.free[:n], self.free[n:]
        for block in taken:
            self.refs[block] = 1
            self.keys.pop(block, None)
        return taken

    def share(self, block):
        if not self.refs.get(block):
            self.free.remove(block)
        self.refs[block] = self.refs.get(block, 0) + 1

    def release(self, blocks):
        gone = []
        for block in blocks:
            self.refs[block] -= 1
            if not self.refs[block]:
                del self.refs[block]
                gone.append(block)
        without = [block for block in gone if block not in self.keys]
        self.free = without + self.free + [block for block in gone if block in self.keys]


@given(st.integers(1, 8), st.lists(st.tuples(st.sampled_from("tskr"), st.integers(0, 7)), max_size=40))
def test_the_free_order_is_that_of_one_plain_list(n, steps):
    pool, plain, tables = BlockPool(n), Plain(n), []
    for what, number in steps:
        if what == "t" and number < pool.n_free:
            tables.append(pool.take(number + 1))
            assert tables[-1] == plain.take(number + 1)
        elif what == "s" and number < n:
            pool.share([number])
            plain.share(number)
            tables.append([number])
        elif what == "k" and pool.refs(number) and number not in plain.keys:
            pool.publish(number, key=number)
            plain.keys[number] = number
        elif what == "r" and tables:
            table = tables.pop(number % len(tables))[::-1]
            pool.release(table)
            plain.release(table)
        assert pool.free_order() == plain.free
        assert pool.all_refs() == plain.refs
        assert pool.n_free == len(plain.free)
