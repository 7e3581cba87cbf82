"""Waits of many batches: as long as they are followed they grow as one over what is left of the load."""

from __future__ import annotations

import pytest

from qtheory.basics.errors import ConvergenceError
from qtheory.predict import limit_rps, predict
from tests.qtheory.predict.worlds import world

ONE_BY_ONE = {"hardware": "a100", "model": "llama-3.1-8b", "scheduler": "static", "max_seqs": 1}


def test_waits_of_more_batches_than_are_followed_are_refused_and_not_cut_short() -> None:
    replica, workload = world(**ONE_BY_ONE, workload="chat")
    limit = limit_rps(replica, workload)
    far, near = (predict(replica, workload, rate_rps=(1 - left) * limit) for left in (0.04, 0.02))
    assert near.p99_ttft_s * 0.02 == pytest.approx(far.p99_ttft_s * 0.04, rel=0.02)
    with pytest.raises(ConvergenceError, match="so near the limit that requests wait for more than"):
        predict(replica, workload, rate_rps=0.9999 * limit)
