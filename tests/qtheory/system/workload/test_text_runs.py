"""Runs of tokens of numbered texts, request by request."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.workload import BlockHashes, Requests, TextRuns

GIVEN: dict[str, Any] = {
    "texts": [0, 7, 0, 3],
    "starts": [0, 2, 0, 5],
    "n_tokens": [10, 20, 30, 40],
    "offsets": [0, 2, 2, 4],
    "output_texts": [7, -1, 3],
    "output_starts": [22, 0, 45],
}
RUNS = TextRuns(**GIVEN)


def rows(runs: TextRuns) -> list[object]:
    outputs = zip(runs.output_texts.tolist(), runs.output_starts.tolist(), strict=True)
    return [(runs.prompt(row), output) for row, output in enumerate(outputs)]


def test_rows_are_chosen_by_a_slice_or_by_their_numbers() -> None:
    assert rows(RUNS)[1] == ([], (-1, 0))
    assert rows(RUNS[1:]) == rows(RUNS)[1:]
    assert rows(RUNS[:0]) == []
    assert rows(RUNS[np.array([2, 0])]) == [rows(RUNS)[2], rows(RUNS)[0]]


def test_blocks_of_a_trace_are_texts_of_their_own() -> None:
    runs = TextRuns.of_blocks(BlockHashes(ids=[4, 9, 4], offsets=[0, 2, 3], block_tokens=512))
    assert rows(runs) == [([(4, 0, 512), (9, 0, 512)], (-1, 0)), ([(4, 0, 512)], (-1, 0))]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"offsets": [0, 2, 2, 3]}, "offsets: must rise from 0 to 4"),
        ({"offsets": [0, 3, 2, 4]}, "offsets: must rise"),
        ({"starts": [0, 2, 0]}, "starts: must be 4 numbers >= 0"),
        ({"n_tokens": [10, 20, 30, -1]}, "n_tokens: must be 4 numbers >= 0"),
        ({"output_texts": [7, -2, 3]}, "output_texts: must be 3 numbers >= -1"),
        ({"output_starts": [7]}, "output_starts: must be 3 numbers >= 0"),
    ],
)
def test_what_does_not_fit_together_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        TextRuns(**GIVEN | changed)


def test_requests_take_the_runs_of_as_many_rows() -> None:
    asked: dict[str, Any] = {"arrival_s": [0.0] * 3, "prompt_tokens": [90] * 3, "output_tokens": [5] * 3}
    assert Requests(**asked, text_runs=RUNS).text_runs is RUNS
    with pytest.raises(ConfigError, match="text_runs: of 2 requests, but there are 3 arrivals"):
        Requests(**asked, text_runs=RUNS[:2])
    with pytest.raises(ConfigError, match=r"text_runs: .* is not a TextRuns"):
        Requests(**asked, text_runs=BlockHashes(ids=[], offsets=[0, 0, 0, 0]))
    with pytest.raises(ConfigError, match="after: 1 in row 1 must be a row above"):
        Requests(**asked, after=[-1, 1, 0])
