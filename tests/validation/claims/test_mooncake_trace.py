"""The claim on a recorded stream of conversations: on that stream, and on one in which nothing is shared."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from validation.claims import CLAIMS, check_claims

NAME = "mooncake-conversations"


def test_where_nothing_is_shared_the_claim_fails(tmp_path: Path) -> None:
    (file,) = CLAIMS[NAME].needs
    path = tmp_path / file
    path.parent.mkdir()
    rows = [
        {"timestamp": 500 * i, "input_length": 1024, "output_length": 4, "hash_ids": [2 * i, 2 * i + 1]}
        for i in range(20)
    ]
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    (result,) = check_claims([NAME], data=tmp_path).results
    assert result.outcome == "failed"
    assert result.finding is not None
    assert [part.holds for part in result.finding.parts] == [False] * 4


@pytest.mark.shared
@pytest.mark.slow
def test_on_the_recorded_stream_it_holds(shared: Path) -> None:
    (result,) = check_claims([NAME], data=shared / "data").results
    assert result.outcome == "passed"
