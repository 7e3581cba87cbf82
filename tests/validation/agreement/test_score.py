"""A cell is scored against its simulation, and the sharpness of the simulation decides what may be said."""

from __future__ import annotations

import pytest

from validation.agreement.capacity import Overload
from validation.agreement.grid import full, quick
from validation.agreement.score import METRICS, Score, medians, score

CELL = next(cell for cell in quick() if cell.scheduler == "chunked")


def _made(error: float, half: float) -> Score:
    return Score(
        cell=CELL,
        overload=Overload(rate_rps=1.0, error_rps=0.0),
        kind="steady state",
        simulated={"mean_ttft_s_half": half},
        errors={"numeric": {"mean_ttft_s": error}},
    )


@pytest.mark.parametrize(
    ("error", "half", "verdict"),
    [(0.05, 0.01, "within"), (-0.07, 0.01, "outside"), (0.01, 0.03, "undecided")],
)
def test_a_verdict_needs_an_interval_of_a_third_of_the_tolerance(
    error: float, half: float, verdict: str
) -> None:
    assert _made(error, half).verdict("numeric", "mean_ttft_s") == verdict
    assert _made(error, half).verdict("closed", "mean_ttft_s") == "no prediction"


def test_medians_are_of_absolute_errors_by_scheduler_band_and_metric() -> None:
    table = medians([_made(error, 0.01) for error in (-0.02, 0.01, 0.05)], "numeric")
    assert table == {("chunked", CELL.band, "mean_ttft_s"): (0.02, pytest.approx(0.047), 3)}


def test_both_tiers_are_asked_about_the_requests_that_were_simulated() -> None:
    found = score(CELL, n_requests=3000, n_replications=2, overload=Overload(rate_rps=10.0, error_rps=0.1))
    assert set(found.errors) == {"numeric", "closed"}
    assert set(METRICS) <= set(found.errors["numeric"])
    assert abs(found.errors["numeric"]["mean_itl_s"]) < 0.1


def test_a_scheduler_without_a_model_has_no_prediction() -> None:
    cell = next(cell for cell in full() if cell.scheduler == "static" and cell.load_frac < 0.5)
    found = score(cell, n_requests=300, n_replications=2, overload=Overload(rate_rps=1.0, error_rps=0.1))
    assert found.errors == {}
    assert set(found.failed.values()) == {"no model"}
