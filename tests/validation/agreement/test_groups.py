"""Nothing is pooled away, and an error that the simulation cannot tell is not passed."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from validation.agreement import Knee, Score, bands_of, full, groups_of, targets_of
from validation.agreement.capacity import Overload
from validation.agreement.groups import Target
from validation.agreement.tolerances import TOLERANCES

CELLS = [cell for cell in full() if cell.load_frac <= 0.8]


def _made(place: int, error: float, half: float = 0.001, **more: object) -> Score:
    return Score(
        cell=CELLS[place],
        overload=Overload(rate_rps=1.0, error_rps=0.0001, limit_rps=1.0, limit_error_rps=0.0001),
        kind="steady state",
        simulated={f"{name}_half": half for name in TOLERANCES},
        predicted={"numeric": {"limit_rps": 1.01}},
        errors={"numeric": dict.fromkeys(TOLERANCES, error)},
        **more,  # type: ignore[arg-type]
    )


def _target(scores: list[Score], name: str) -> Target:
    return next(one for one in targets_of(scores) if one.name == name)


def test_every_combination_has_a_group_of_its_own() -> None:
    scores = [_made(place, 0.01) for place in range(len(CELLS))]
    groups = groups_of(scores)
    keys = {(g.scheduler, g.band, g.memory, g.arrivals) for g in groups}
    assert len(keys) == len(groups)
    assert sum(group.n_cells for group in groups) == len(CELLS)
    assert all(group.medians["numeric"]["mean_ttft_s"] == 0.01 for group in groups)


def test_bands_pool_memory_and_arrivals_and_nothing_else() -> None:
    scores = [_made(place, 0.01) for place in range(len(CELLS))]
    bands = bands_of(scores)
    assert [(g.memory, g.arrivals) for g in bands] == [("all", "all")] * len(bands)
    assert {(g.scheduler, g.band) for g in bands} == {(g.scheduler, g.band) for g in groups_of(scores)}
    assert sum(group.n_cells for group in bands) == len(CELLS)
    knee = Knee(rate_rps=2.0, half_frac=0.0, predicted_rps={"closed": 1.9})
    (band,) = bands_of([replace(scores[0], knee=knee)])
    assert band.medians["closed"]["knee_rps"] == pytest.approx(0.05)
    assert "knee_rps" not in band.medians["numeric"]


def test_medians_are_of_absolute_errors() -> None:
    scores = [replace(_made(0, error)) for error in (-0.02, 0.01, 0.05)]
    assert groups_of(scores)[0].medians["numeric"]["p99_tpot_s"] == 0.02


def test_a_target_has_a_bound_on_the_median_and_one_on_all_but_a_twentieth() -> None:
    good = [_made(place, 0.01) for place in range(40)]
    name = "numeric: mean_ttft_s at load <= 0.8"
    assert _target(good, name).verdict == "met"
    assert _target([*good[:38], _made(38, 0.5), _made(39, 0.5)], name).verdict == "met"
    assert _target(good[:37] + [_made(k, 0.5) for k in (37, 38, 39)], name).verdict == "missed"
    assert _target([_made(place, 0.025) for place in range(40)], name).verdict == "missed"


def test_undecided_errors_count_as_infinite_in_the_larger_bound() -> None:
    blurred = [_made(place, 0.001, half=0.03) for place in range(40)]
    found = _target(blurred, "numeric: mean_ttft_s at load <= 0.8")
    assert (found.n_undecided, found.most, found.verdict) == (40, math.inf, "missed")
    assert (found.median, found.most_decided) == (0.001, None)
    half = [*blurred[:20], *(_made(place, 0.02) for place in range(20))]
    found = _target(half, "numeric: mean_ttft_s at load <= 0.8")
    assert (found.n_undecided, found.most, found.most_decided) == (20, math.inf, 0.02)


def test_cells_without_an_answer_count() -> None:
    silent = replace(_made(0, 0.0), errors={}, refused={"numeric": "no model"})
    first = targets_of([silent, *(_made(place, 0.0) for place in range(1, 9))])[0]
    assert first.median == pytest.approx(1 / 9)
    assert first.verdict == "missed"
    assert targets_of([silent, *(_made(place, 0.0) for place in range(1, 10))])[0].verdict == "met"


def test_a_knee_that_one_side_alone_sees_is_an_infinite_error() -> None:
    assert Knee(rate_rps=0.0, half_frac=0.0, predicted_rps={"numeric": 0.0}).error("numeric") == 0.0
    assert Knee(rate_rps=2.0, half_frac=0.0, predicted_rps={"numeric": 0.0}).error("numeric") == math.inf
    assert Knee(rate_rps=2.0, half_frac=0.0, predicted_rps={"numeric": 2.02}).error("numeric") == (
        pytest.approx(0.01)
    )
    assert Knee(rate_rps=2.0, half_frac=0.0).error("numeric") is None


def test_targets_of_memory_take_the_cells_where_memory_binds() -> None:
    scores = [_made(0, 0.0, binds="KV memory"), _made(1, 0.0, binds="slots"), _made(2, 0.0, binds="slots")]
    counts = {one.name: one.n for one in targets_of(scores)}
    assert counts["stability limit, KV binding"] == 1
    assert counts["stability limit, KV not binding"] == 2
