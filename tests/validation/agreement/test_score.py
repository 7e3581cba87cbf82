"""A cell is scored against its simulation, and the sharpness of the simulation decides what may be said."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module

import pytest

from qtheory.basics.errors import ServingError
from qtheory.system.workload import PairLengths
from validation.agreement import Effort, Knee, Score, quick, score, simulate_cell
from validation.agreement._knee_simulated import SimulatedKnee
from validation.agreement._simulate import Asked
from validation.agreement.capacity import Overload
from validation.agreement.tolerances import METRICS, TOLERANCES

CELL = next(cell for cell in quick() if cell.scheduler == "chunked")
TINY = Effort(
    first_requests=4_000, most_requests=4_000, overload_requests=2_000, knee_requests=0, n_replications=2
)


def made(error: float, half: float, *, load: float = 0.5, kind: str = "steady state") -> Score:
    return Score(
        cell=replace(CELL, load_frac=load),
        overload=Overload(rate_rps=1.0, error_rps=0.0, limit_rps=1.0, limit_error_rps=0.0),
        kind=kind,
        simulated={f"{name}_half": half for name in TOLERANCES},
        errors={"numeric": dict.fromkeys(TOLERANCES, error)},
    )


@pytest.mark.parametrize(
    ("error", "half", "load", "verdict"),
    [
        (0.05, 0.01, 0.5, "within"),
        (-0.07, 0.01, 0.5, "outside"),
        (-0.07, 0.01, 0.9, "within"),
        (0.01, 0.03, 0.5, "undecided"),
        (0.01, 0.03, 0.9, "within"),
        (0.50, 0.01, 0.95, "listed"),
    ],
)
def test_a_verdict_needs_intervals_of_a_third_of_the_tolerance(
    error: float, half: float, load: float, verdict: str
) -> None:
    assert made(error, half, load=load).verdict("numeric") == verdict
    assert made(error, half, load=load).verdict("closed") == "refused"


def test_a_cell_whose_runs_disagree_is_undecided_however_narrow_its_intervals_look() -> None:
    assert made(0.0, 0.001, kind="undecided: the runs disagree").verdict("numeric") == "undecided"


def test_a_rate_above_the_limit_is_told_by_saying_so_and_by_nothing_else() -> None:
    over = replace(made(0.0, 0.01, load=1.1), errors={})
    assert replace(over, refused={"numeric": "above the limit"}).verdict("numeric") == "overload told"
    assert replace(over, refused={"numeric": "no model"}).verdict("numeric") == "refused"
    low = replace(over, cell=CELL, refused={"numeric": "above the limit"})
    assert low.verdict("numeric") == "refused"


def test_both_tiers_and_the_baselines_are_asked_about_the_requests_that_were_simulated() -> None:
    found = score(CELL, TINY)
    assert set(found.errors) == {"numeric", "closed", "M/G/1", "M/M(n)/1"}
    assert set(METRICS) <= set(found.errors["numeric"])
    assert abs(found.errors["numeric"]["mean_itl_s"]) < 0.1
    assert found.simulated["n_requests"] == 4_000


def test_a_score_comes_back_from_json_as_it_was() -> None:
    knee = Knee(rate_rps=2.0, half_frac=0.01, predicted_rps={"numeric": 2.1})
    found = replace(score(CELL, TINY), knee=knee)
    assert Score.from_row(json.loads(json.dumps(found.row()))) == found


def test_a_cell_that_cannot_be_simulated_has_a_score_that_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> Overload:
        raise ServingError("cannot be served")

    monkeypatch.setattr(import_module("validation.agreement.simulated"), "overload_rps", refuse)
    found = score(CELL, TINY)
    assert (found.kind, found.verdict("numeric")) == ("cannot be served", "not simulated")


def test_what_was_simulated_before_is_scored_without_a_simulation_and_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = simulate_cell(CELL, TINY)
    whole = score(CELL, TINY)
    monkeypatch.setattr(import_module("validation.agreement.score"), "simulate_cell", None)
    monkeypatch.setattr(
        import_module("validation.agreement.score"), "predicted_knees", lambda *_: {"closed": 3}
    )
    knee = SimulatedKnee(rate_rps=2.0, half_frac=0.01, n_requests=2_000)
    assert score(CELL, TINY, known) == whole
    found = score(CELL, TINY, replace(known, knee=knee)).knee
    assert found == Knee(rate_rps=2.0, half_frac=0.01, predicted_rps={"closed": 3})


def test_a_knee_by_bisection_is_held_against_the_lengths_drawn_and_a_newer_one_against_their_law(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Asked] = []

    def predicted(question: Asked, overload_rps: float) -> dict[str, float]:
        asked.append(question)
        return {"closed": overload_rps}

    monkeypatch.setattr(import_module("validation.agreement.score"), "predicted_knees", predicted)
    known = simulate_cell(CELL, TINY)
    knee = SimulatedKnee(rate_rps=2.0, half_frac=0.01, n_requests=2_000)
    for method in (1, 2):
        score(CELL, TINY, replace(known, knee=replace(knee, method=method)))
    drawn, law = (one.workload.lengths for one in asked)
    assert isinstance(drawn, PairLengths)
    assert len(drawn) == knee.n_requests
    assert not isinstance(law, PairLengths)


def test_simulation_goes_on_until_it_is_sharp_or_may_not() -> None:
    sharp = score(CELL, replace(TINY, most_requests=30_000))
    assert 4_000 < sharp.simulated["n_requests"] <= 30_000
    assert sharp.simulated["mean_tpot_s_half"] < score(CELL, TINY).simulated["mean_tpot_s_half"]


def test_a_scheduler_without_a_model_is_refused_and_not_simulated() -> None:
    found = score(replace(CELL, scheduler="fair"), TINY)
    assert (found.verdict("numeric"), found.simulated) == ("refused", {})
