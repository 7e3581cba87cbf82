"""The radix tree against a trie with a node a page, and by hand."""

from __future__ import annotations

from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from sim.kvcache import EVICTIONS, RadixTree, radix
from tests.sim.kvcache.naive_trie import NaiveTrie

TOKENS = st.one_of(
    st.lists(st.integers(0, 1), max_size=9),
    st.lists(st.integers(0, 1), max_size=3).map(lambda head: [*head, *[7] * 80, *head]),
)
SPACES = st.sampled_from(["", "", "a"])
OPS = st.one_of(
    st.tuples(st.just("insert"), TOKENS, SPACES, st.integers(0, 2)),
    st.tuples(st.sampled_from(["match", "lock"]), TOKENS, SPACES, st.just(0)),
    st.tuples(st.sampled_from(["evict", "unlock"]), st.just([]), st.just(""), st.integers(0, 12)),
)


@settings(max_examples=300)
@given(st.lists(OPS, max_size=40), st.sampled_from(sorted(EVICTIONS)), st.sampled_from([1, 1, 2, 3]))
def test_the_tree_answers_as_a_trie_of_single_pages(ops, eviction, page):
    with mock.patch.object(radix, "_SPARE_OFFERS", 2):  # cleared away often
        hold_against_trie(ops, eviction, page)


def hold_against_trie(ops, eviction, page):
    tree = RadixTree(page_tokens=page, eviction=eviction)
    trie = NaiveTrie(page, eviction)
    holds: list = []
    for op, tokens, space, n in ops:
        if op == "insert":
            found = tree.insert(tokens, namespace=space, priority=n)
            assert found == trie.insert(tokens, space, n)
        elif op == "match":
            peeked = tree.peek(tokens, namespace=space)
            assert peeked == tree.match(tokens, namespace=space) == trie.match(tokens, space)
        elif op == "lock":
            hold, path = tree.lock(tokens, namespace=space), trie.lock(tokens, space)
            assert hold.n_tokens == len(path) * page
            holds.append((hold, path))
        elif op == "unlock" and holds:
            hold, path = holds.pop(n % len(holds))
            tree.unlock(hold)
            trie.unlock(path)
        elif op == "evict":
            assert tree.evict(n) == trie.evict(n)
        n_tokens, n_protected = trie.sizes()
        assert (tree.n_tokens, tree.protected_tokens) == (n_tokens, n_protected)
        assert tree.evictable_tokens == n_tokens - n_protected
    for hold, _ in holds:
        tree.unlock(hold)
    assert tree.protected_tokens == 0
    n_left = tree.n_tokens
    assert sum(map(len, tree.evict(10**6))) == n_left
    assert tree.n_tokens == 0


def test_a_long_shared_run_is_one_edge():
    tree = RadixTree()
    for tail in range(50):
        tree.insert([*range(10_000), -tail - 1])
    assert tree.n_tokens == 10_050
    assert tree.cuts([*range(10_000), -7]) == [0, 10_000]


@pytest.mark.parametrize("at", [0, 1, 31, 32, 33, 95, 96, 97, 500, 998, 999])
def test_a_difference_is_found_wherever_it_is(at):
    tree = RadixTree()
    tree.insert(range(1000))
    other = list(range(1000))
    other[at] = -1
    assert tree.peek(other) == at


def test_peeking_leaves_no_trace():
    tree = RadixTree()
    tree.insert([1, 2, 3])
    tree.insert([4, 5])
    assert tree.peek([1, 2]) == 2
    assert tree.cuts([1, 2]) == [0]
    assert tree.evict(1) == [(1, 2, 3)]


def test_a_hold_is_given_back_once_and_to_its_own_tree():
    tree, other = RadixTree(), RadixTree()
    tree.insert([1, 2])
    hold = tree.lock([1, 2])
    with pytest.raises(ConfigError, match="another tree"):
        other.unlock(hold)
    tree.unlock(hold)
    with pytest.raises(ConfigError, match="already"):
        tree.unlock(hold)
    assert tree.evictable_tokens == 2


def test_frequent_use_is_by_insertion_not_by_match():
    tree = RadixTree(eviction="lfu")
    tree.insert([1])
    tree.insert([2])
    tree.insert([2])
    for _ in range(5):
        tree.match([1])
    assert tree.evict(1) == [(1,)]


@pytest.mark.parametrize("wrong", [{"page_tokens": 0}, {"page_tokens": 1.5}, {"eviction": "lur"}])
def test_a_tree_checks_what_it_is_given(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        RadixTree(**wrong)
