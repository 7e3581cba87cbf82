"""Chained keys and the contents of requests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from sim.kvcache import Chains, Contents

TEXT = st.lists(st.integers(0, 1), max_size=9)


@given(TEXT, TEXT, st.integers(1, 4))
def test_keys_are_equal_exactly_where_the_prefixes_are(left, right, size):
    chains = Chains(block_tokens=size)
    keys = zip(chains.extend([], left), chains.extend([], right), strict=False)
    for index, (a, b) in enumerate(keys):
        end = (index + 1) * size
        assert (a == b) == (left[:end] == right[:end])


@given(TEXT, st.integers(1, 4), st.integers(0, 9))
def test_a_chain_grows_as_if_it_had_been_made_at_once(text, size, cut):
    chains = Chains(block_tokens=size)
    begun = chains.extend([], text[:cut])
    assert chains.extend(begun, text) == chains.extend([], text)


def test_a_salt_separates_all_blocks():
    chains = Chains(block_tokens=1)
    assert set(chains.extend([], [1, 2], salt="x")).isdisjoint(chains.extend([], [1, 2], salt="y"))


def test_text_left_out_occurs_nowhere_else():
    contents = Contents(prompts=[[1, 2], None, None], outputs=[None, [7], None])
    texts = [contents.tokens(row, prompt_tokens=3, n_outputs=2) for row in range(3)]
    assert texts[0][:2] == [1, 2]
    assert texts[1][3] == 7
    invented = [token for text in texts for token in text if token < 0]
    assert len(set(invented)) == len(invented) == 12
    assert contents.tokens(0, prompt_tokens=3, n_outputs=1) == texts[0][:4]


def test_rows_must_match():
    with pytest.raises(ConfigError, match="as many rows as prompts"):
        Contents(prompts=[None], outputs=[])
