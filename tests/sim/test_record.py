"""Runs of steps and of gaps, unrolled."""

from __future__ import annotations

import numpy as np
import pytest

from sim.record import GapRuns, unrolled


def test_gaps_of_a_run_grow_by_its_slope_and_keep_their_count() -> None:
    runs = GapRuns(
        gap_s=np.array([1.0, 0.5, 9.0]),
        slope_s=np.array([0.0, 0.25, 1.0]),
        n_steps=np.array([1, 3, 0]),
        n_tokens=np.array([4, 2, 7]),
    )
    gap_s, n_tokens = runs.expand()
    assert gap_s == pytest.approx([1.0, 0.5, 0.75, 1.0])
    assert n_tokens.tolist() == [4, 2, 2, 2]


def test_no_runs_unroll_to_no_steps() -> None:
    run, offset = unrolled(np.array([], dtype=np.int64))
    assert len(run) == len(offset) == 0
