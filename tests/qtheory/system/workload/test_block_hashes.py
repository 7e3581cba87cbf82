"""Ids of prompt blocks: rows, parts, and what does not fit."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.workload import BlockHashes, Requests, Workload

HASHES = BlockHashes(ids=[0, 1, 2, 0, 3], offsets=[0, 3, 3, 5])
TRACE = Requests(
    arrival_s=[0.0, 1.0, 2.0], prompt_tokens=[1500, 5, 600], output_tokens=[1, 2, 3], block_hashes=HASHES
)


def test_each_request_has_its_own_ids():
    assert [HASHES.row(i).tolist() for i in range(3)] == [[0, 1, 2], [], [0, 3]]
    assert len(HASHES) == 3


def test_a_part_holds_the_requests_of_that_part():
    assert [HASHES[1:].row(i).tolist() for i in range(2)] == [[], [0, 3]]
    assert HASHES[:1].ids.tolist() == [0, 1, 2]
    assert len(HASHES[2:1]) == 0


def test_a_replay_that_is_cut_keeps_the_ids_of_what_is_left():
    workload = replace(Workload.from_trace(TRACE), n_requests=2)
    kept = workload.generate(np.random.default_rng(0)).block_hashes
    assert kept is not None
    assert kept.offsets.tolist() == [0, 3, 3]


def test_ids_of_another_number_of_requests_are_refused():
    with pytest.raises(ConfigError, match="block_hashes: of 2 requests, but there are 3 arrivals"):
        replace(TRACE, block_hashes=HASHES[:2])


@pytest.mark.parametrize("offsets", [[], [0], [0, 4], [1, 5], [0, 4, 3, 5], [[0, 5]]])
def test_offsets_that_do_not_divide_the_ids_are_refused(offsets):
    with pytest.raises(ConfigError, match=re.escape("offsets: must rise from 0 to 5, the number of ids")):
        BlockHashes(ids=[0, 1, 2, 0, 3], offsets=offsets)


def test_a_row_or_a_step_that_is_not_there_is_refused():
    with pytest.raises(ConfigError, match=re.escape("index: 3 must be in 0 .. 2")):
        HASHES.row(3)
    with pytest.raises(ConfigError, match="step 2 must be 1"):
        _ = HASHES[::2]
    with pytest.raises(ConfigError, match="block_tokens: 0"):
        BlockHashes(ids=[], offsets=[0], block_tokens=0)
