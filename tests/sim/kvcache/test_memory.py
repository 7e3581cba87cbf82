"""Block tables, under random operations and by hand."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from qtheory.basics.errors import ConfigError
from sim.kvcache import Chains, KvMemory

SIZE, POOL = 3, 12
TEXTS = st.lists(st.integers(0, 1), min_size=1, max_size=14)


class Tables(RuleBasedStateMachine):
    """Owners come, grow, fork and go; what they hold is tracked beside the memory."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = KvMemory(n_blocks=POOL, block_tokens=SIZE, prefix_cache=True)
        self.chains = Chains(block_tokens=SIZE)
        self.text: dict[int, list[int]] = {}
        self.n = 0

    def publish(self, owner: int) -> None:
        text = self.text[owner]
        self.memory.publish(owner, self.chains.extend([], text), len(text))

    @rule(text=TEXTS)
    def come(self, text: list[int]) -> None:
        chain = self.chains.extend([], text)
        hit = self.memory.lookup(chain, len(text))
        assert len(hit) * SIZE < len(text)
        before = self.memory.n_free
        demand = self.memory.demand(hit, len(text))
        if demand > before:
            return
        self.n += 1
        self.memory.open(self.n, hit, len(text))
        assert self.memory.n_free == before - demand
        self.text[self.n] = text
        self.publish(self.n)

    @precondition(lambda self: self.text)
    @rule(more=TEXTS, data=st.data())
    def grow(self, more: list[int], data: st.DataObject) -> None:
        owner = data.draw(st.sampled_from(sorted(self.text)))
        old, new = len(self.text[owner]), len(self.text[owner]) + len(more)
        before = self.memory.n_free
        demand = self.memory.growth_demand(owner, old, new)
        if demand > before:
            return
        self.memory.extend(owner, old, new)
        assert self.memory.n_free == before - demand
        self.text[owner] = self.text[owner] + more
        self.publish(owner)

    @precondition(lambda self: self.text)
    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        owner = data.draw(st.sampled_from(sorted(self.text)))
        before = self.memory.n_free
        self.n += 1
        self.memory.fork(owner, self.n)
        self.text[self.n] = self.text[owner]
        assert self.memory.n_free == before

    @precondition(lambda self: self.text)
    @rule(data=st.data())
    def go(self, data: st.DataObject) -> None:
        owner = data.draw(st.sampled_from(sorted(self.text)))
        gone = self.memory.references([owner])
        before, frees = self.memory.n_free, self.memory.freed_by(gone)
        self.memory.close(owner)
        del self.text[owner]
        assert self.memory.n_free == before + frees

    @invariant()
    def blocks_are_free_or_referred_to(self) -> None:
        pool = self.memory.pool
        free = pool.free_order()
        refs = Counter(block for owner in self.text for block in self.memory.blocks(owner))
        assert pool.all_refs() == dict(refs)
        assert len(set(free)) == len(free)
        assert set(free).isdisjoint(refs)
        assert len(free) + len(refs) == POOL

    @invariant()
    def tables_are_as_long_as_their_text_and_partial_blocks_private(self) -> None:
        for owner, text in self.text.items():
            blocks = self.memory.blocks(owner)
            assert len(blocks) == -(-len(text) // SIZE)
            assert len(set(blocks)) == len(blocks)

    @invariant()
    def a_hit_block_holds_the_text_that_it_stands_for(self) -> None:
        for owner, text in self.text.items():
            chain = self.chains.extend([], text)
            assert len(self.memory.pool.match(chain)) == len(chain)
            assert self.memory.n_held(owner) >= len(chain)


TestTables = Tables.TestCase
TestTables.settings = settings(max_examples=60, stateful_step_count=25)


def test_a_writer_copies_a_shared_partial_block_once():
    memory = KvMemory(n_blocks=6, block_tokens=4)
    memory.open("P", [], 6)
    memory.fork("P", "Q")
    assert memory.growth_demand("P", 6, 7) == 1
    assert memory.extend("P", 6, 7).copied == [(1, 2)]
    assert memory.extend("Q", 6, 7).copied == []
    assert (memory.blocks("P"), memory.blocks("Q")) == ([0, 2], [0, 1])


def test_a_fork_that_grows_by_nothing_copies_nothing():
    memory = KvMemory(n_blocks=6, block_tokens=4)
    memory.open("P", [], 6)
    memory.fork("P", "Q")
    assert memory.growth_demand("P", 6, 6) == 0


def test_hits_on_idle_blocks_count_as_demand():
    memory = KvMemory(n_blocks=5, block_tokens=4, prefix_cache=True)
    memory.open("A", [], 8)
    memory.publish("A", [1, 2], 8)
    assert memory.demand([0, 1], 12) == 1
    memory.close("A")
    assert memory.demand([0, 1], 12) == 3


def test_without_prefix_cache_nothing_is_found():
    memory = KvMemory(n_blocks=5, block_tokens=4)
    memory.open("A", [], 8)
    memory.publish("A", [1, 2], 8)
    assert memory.lookup([1, 2], 9) == []


def test_an_owner_has_one_table():
    memory = KvMemory(n_blocks=5, block_tokens=4)
    memory.open("A", [], 4)
    with pytest.raises(ConfigError, match="'A' has blocks already"):
        memory.open("A", [], 4)
    memory.open("B", [], 4)
    with pytest.raises(ConfigError, match="'B' has blocks already"):
        memory.fork("A", "B")
