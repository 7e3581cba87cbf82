"""Requests as columns: defaults, and what cannot be a request."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.workload import Requests

PLAIN: dict[str, Any] = {"arrival_s": [0.0, 1.5], "prompt_tokens": [10, 20], "output_tokens": [3, 1]}


def test_a_row_fills_in_what_was_left_out() -> None:
    row = Requests(**PLAIN).row(1)
    assert (row.position, row.arrival_s, row.prompt_tokens, row.output_tokens) == (1, 1.5, 20, 1)
    assert (row.max_output_tokens, row.predicted_output_tokens) == (1, 1.0)
    assert (row.priority, row.client, row.ttft_slo_s) == (0, 0, math.inf)


def test_a_row_holds_what_was_given() -> None:
    given = {"max_output_tokens": [9, 8], "predicted_output_tokens": [2.5, 3.5], "ttft_slo_s": [1.0, 2.0]}
    row = Requests(**PLAIN, **given, priority=[-1, 5], client=[4, 7]).row(0)
    assert (row.max_output_tokens, row.predicted_output_tokens, row.ttft_slo_s) == (9, 2.5, 1.0)
    assert (row.priority, row.client) == (-1, 4)


def test_rows_come_in_order_and_of_plain_types() -> None:
    rows = list(Requests(**PLAIN))
    assert [row.position for row in rows] == [0, 1]
    assert {type(item) for row in rows for item in row} == {int, float}


def test_lists_and_whole_floats_become_typed_columns() -> None:
    requests = Requests(arrival_s=[0, 1], prompt_tokens=np.array([10.0, 20.0]), output_tokens=[3, 1])
    assert requests.arrival_s.dtype == np.float64
    assert requests.prompt_tokens.dtype == np.int64
    assert requests.prompt_tokens.tolist() == [10, 20]


def test_no_requests_are_requests() -> None:
    assert list(Requests(arrival_s=[], prompt_tokens=[], output_tokens=[])) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"prompt_tokens": [10]}, r"prompt_tokens: shape \(1,\), but there are 2 arrivals"),
        ({"client": [[1, 2]]}, r"client: shape \(1, 2\), but there are 2 arrivals"),
        ({"arrival_s": [0.0, math.inf]}, "arrival_s: row 1 is not finite"),
        ({"arrival_s": [math.nan, 1.0]}, "arrival_s: row 0 is not a number"),
        ({"arrival_s": [-1.0, 1.0]}, "arrival_s: -1 is before the start"),
        ({"arrival_s": [2.0, 1.0]}, "arrival_s: row 1 is earlier than the row before it; sort by time"),
        ({"prompt_tokens": [10, 0]}, "prompt_tokens: 0 in row 1 must be >= 1"),
        ({"output_tokens": [-2, 1]}, "output_tokens: -2 in row 0 must be >= 1"),
        ({"max_output_tokens": [1, 0]}, "max_output_tokens: 0 in row 1 must be >= 1"),
        ({"prompt_tokens": [10, 20.5]}, "prompt_tokens: 20.5 in row 1 must be a whole number"),
        ({"output_tokens": [math.nan, 1]}, "output_tokens: nan in row 0 must be a whole number"),
        ({"priority": [0, math.inf]}, "priority: inf in row 1 must be a whole number"),
        ({"client": [[0.5, 2]]}, "client: 0.5 in row 0 must be a whole number"),
        ({"ttft_slo_s": [1.0, math.nan]}, "ttft_slo_s: row 1 is not a number"),
        ({"predicted_output_tokens": [math.nan, 1.0]}, "predicted_output_tokens: row 0 is not a number"),
        ({"predicted_output_tokens": [-1.0, 1.0]}, "predicted_output_tokens: -1 in row 0 must be >= 0"),
        (
            {"predicted_output_tokens": [math.inf, 1.0]},
            "predicted_output_tokens: inf in row 0 must be at most",
        ),
        ({"ttft_slo_s": [1.0, -1.0]}, "ttft_slo_s: -1 in row 1 must be >= 0"),
        (
            {"prompt_tokens": [10, 10**12]},
            "prompt_tokens: 1000000000000 in row 1 must be at most 1,000,000,000",
        ),
        ({"prompt_tokens": [10, 10**30]}, r"prompt_tokens: \[10, 1000.* holds a number that is too large"),
        ({"priority": [0, 2**63]}, "priority: .* too large for 64 bits"),
        ({"client": [1e30, 0]}, "client: .* too large for 64 bits"),
        ({"arrival_s": None}, "arrival_s: None is not a list of numbers, one a request"),
        ({"arrival_s": 3.0}, "arrival_s: 3 is not a list of numbers"),
        ({"arrival_s": ["0", "1"]}, r"arrival_s: \['0', '1'\] is not a list of numbers"),
        ({"prompt_tokens": None}, "prompt_tokens: None is not a list"),
        ({"prompt_tokens": "12"}, "prompt_tokens: '12' is not a list"),
        ({"prompt_tokens": [1, None]}, "prompt_tokens: .* is not a list"),
        ({"output_tokens": [1j, 2]}, "output_tokens: .* is not a list"),
        ({"output_tokens": [True, False]}, "output_tokens: .* is not a list"),
        ({"output_tokens": [[1], [2, 3]]}, "output_tokens: .* is not a list"),
        ({"output_tokens": iter([1, 2])}, "output_tokens: .* is not a list"),
        ({"block_hashes": [1, 2]}, r"block_hashes: \[1, 2\] is not a BlockHashes"),
    ],
)
def test_what_cannot_be_a_request_is_refused_with_column_and_row(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=f"^{said}"):
        Requests(**PLAIN | change)
