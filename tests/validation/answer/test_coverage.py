"""Steady-state studies of the simulator hold a truth from far longer runs as often as they say."""

from __future__ import annotations

import pytest

from benchmarks import coverage
from benchmarks.coverage import Case
from validation.answer import Workers

N_STUDIES = 60
LEAST = 0.95 - 4 * (0.95 * 0.05 / N_STUDIES) ** 0.5


@pytest.mark.slow
def test_sixty_studies_of_a_busy_replica_hold_the_truth() -> None:
    case = Case(load_frac=0.8, n_requests=6_000, n_long=150_000)
    with Workers(1) as workers:
        rate_rps = case.load_frac * coverage.capacity_rps("chunked")
        rows, steady_frac = coverage.coverage("chunked", rate_rps, case, workers, n_studies=N_STUDIES)
    assert steady_frac > 0.9
    for row in rows:
        assert row.truth_half_width_frac < row.half_width_frac / 2, row.quantity
        assert row.coverage_frac > LEAST, row.quantity
        assert 0 < row.half_width_frac < 0.5, row.quantity
