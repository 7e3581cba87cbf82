"""Comparisons made by hand, for tests that are not to simulate."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

from validation.agreement import Score, cells_of, effort_of, groups_of, summary_of, targets_of
from validation.agreement.capacity import Overload
from validation.agreement.knees import Knee
from validation.agreement.score import errors_of
from validation.agreement.tolerances import TOLERANCES
from validation.cli.emit import Answer, as_json

ORIGIN = {"version": "0.0.9", "grid": "full", "only": None, "effort": asdict(effort_of("full"))}
_LEVELS = {"mean_ttft_s": 0.2, "p99_ttft_s": 0.9, "mean_tpot_s": 0.02, "p99_tpot_s": 0.05}


def made(place: int, off: float, half: float = 0.001, **changes: Any) -> Score:
    """A cell of the full design whose numeric answers are off by ``off``, known to ``half``."""
    cell = replace(cells_of("full")[place], load_frac=0.5)
    simulated = dict(_LEVELS) | {f"{name}_half": half for name in TOLERANCES} | {"rate_rps": 2.0}
    numbers = {name: value * (1 + off) for name, value in _LEVELS.items()} | {"limit_rps": 4.1}
    one = Score(
        cell=cell,
        overload=Overload(rate_rps=4.0, error_rps=0.01, limit_rps=4.0, limit_error_rps=0.01),
        kind="steady state",
        binds="slots",
        simulated=simulated,
        predicted={"numeric": numbers, "closed": {**numbers, "p99_ttft_s": math.inf}, "M/G/1": {}},
        refused={"M/G/1": "above the limit"},
        knee=Knee(rate_rps=None, half_frac=math.inf, predicted_rps={"numeric": 3.0}),
    )
    one = replace(one, **changes)
    return replace(one, errors={name: errors_of(said, one) for name, said in one.predicted.items()})


def refused(place: int, why: str) -> Score:
    """A cell that the simulator does not take."""
    cell = cells_of("full")[place]
    return Score(cell=cell, overload=None, kind=why, refused=dict.fromkeys(("numeric", "closed"), why))


def as_kept(scores: list[Score]) -> str:
    """What ``--format json`` writes of them."""
    rows = [
        one.row() | {"verdicts": {tier: one.verdict(tier) for tier in ("numeric", "closed")}}
        for one in scores
    ]
    more = {
        "groups": [group.scheduler for group in groups_of(scores)],
        "targets": [target.name for target in targets_of(scores)],
        "summary": summary_of(scores),
    }
    return as_json(Answer(rows=rows, text="", provenance=ORIGIN, more=more))
