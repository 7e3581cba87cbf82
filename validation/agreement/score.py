"""One cell: simulation, both tiers of the theory, and how far apart they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from qtheory.basics.errors import ServingError, UnstableError
from qtheory.predict import MODELLED_SCHEDULERS, TIERS, predict
from qtheory.system.workload import PairLengths
from validation.answer import Study, run
from validation.answer.point import build, requests_of

from .capacity import Overload, overload_rps
from .grid import Cell

__all__ = ["METRICS", "TOLERANCES", "Score", "medians", "score"]

METRICS = (
    "mean_ttft_s", "p50_ttft_s", "p90_ttft_s", "p99_ttft_s", "mean_tpot_s", "p50_tpot_s", "p90_tpot_s",
    "p99_tpot_s", "mean_itl_s", "p99_itl_s", "mean_e2e_s", "p99_e2e_s",
)  # fmt: skip
"""What is compared as a relative error; goodput is compared as a difference."""

TOLERANCES = {"mean_ttft_s": 0.06, "mean_tpot_s": 0.06, "p99_ttft_s": 0.12, "p99_tpot_s": 0.12}
"""Largest relative error up to a load of 0.8; twice that at 0.9."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a cell showed.

    Parameters
    ----------
    cell : Cell
    overload : Overload
    kind : str
        How far the simulated numbers reach.
    simulated : dict
        The columns of the result, and half widths of 95 % intervals as ``NAME_half``, relative.
    errors : dict
        By tier and metric: predicted over simulated less one (``goodput_frac`` and ``shed_frac``: predicted
        less simulated; ``limit_rps``: limit over overload less one).
    failed : dict
        By tier: why there is no prediction.
    """

    cell: Cell
    overload: Overload
    kind: str
    simulated: dict[str, float]
    errors: dict[str, dict[str, float]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def verdict(self, tier: str, metric: str) -> str:
        """``within``, ``outside``, or ``undecided`` where the simulation is not sharp enough to tell."""
        tolerance = TOLERANCES[metric] * (2 if self.cell.load_frac > 0.8 else 1)
        error = self.errors.get(tier, {}).get(metric)
        if error is None:
            return "no prediction"
        if self.simulated.get(f"{metric}_half", np.inf) > tolerance / 3:
            return "undecided"
        return "within" if abs(error) <= tolerance else "outside"


def score(
    cell: Cell, *, n_requests: int = 20_000, n_replications: int = 4, overload: Overload | None = None
) -> Score:
    """Simulate a cell and ask both tiers about it.

    The theory is asked about the very requests that were simulated (their lengths and their mean rate), so
    that a sample of long outputs that happens to be long is no error of the theory.

    Parameters
    ----------
    cell : Cell
    n_requests, n_replications : int
        Of the simulation.
    overload : Overload, optional
        If it is known already.

    Raises
    ------
    ServingError
        If the cell cannot be simulated.
    """
    scenario = cell.scenario()
    found = overload_rps(scenario) if overload is None else overload
    scenario = replace(scenario, rate_rps=cell.load_frac * found.rate_rps, requests=n_requests)
    study = Study(steady=True, n_replications=n_replications)
    result = run(scenario, study=study).result
    simulated = {name: float(value) for name, value in result.row().items() if isinstance(value, int | float)}
    simulated["shed_frac"] = result.n_shed / max(result.n_requests, 1)
    for name, (low, high) in result.limits.items():
        simulated[f"{name}_half"] = (high - low) / 2 / max(simulated[name], 1e-300)
    outcome = Score(cell=cell, overload=found, kind=result.kind, simulated=simulated)
    if cell.scheduler not in MODELLED_SCHEDULERS:
        return replace(outcome, failed=dict.fromkeys(TIERS, "no model"))
    return _with_theory(outcome, scenario, n_replications)


def _with_theory(outcome: Score, scenario: Any, n_replications: int) -> Score:
    point = build(scenario, Study(steady=True, n_replications=n_replications))
    samples = [requests_of(point.workload, scenario.seed, index) for index in range(n_replications)]
    lengths = PairLengths(
        prompt_tokens=np.concatenate([each.prompt_tokens for each in samples]),
        output_tokens=np.concatenate([each.output_tokens for each in samples]),
    )
    workload = replace(point.workload, lengths=lengths)
    rate_rps = float(np.mean([len(each) / float(each.arrival_s[-1]) for each in samples]))
    errors: dict[str, dict[str, float]] = {}
    failed: dict[str, str] = {}
    for tier in TIERS:
        try:
            row = predict(point.replica, workload, rate_rps=rate_rps, tier=tier).row()
        except UnstableError:
            failed[tier] = "above the limit"
            continue
        except ServingError as error:
            failed[tier] = str(error)
            continue
        errors[tier] = _errors(row, outcome)
    return replace(outcome, errors=errors, failed=failed)


def _errors(row: dict[str, Any], outcome: Score) -> dict[str, float]:
    simulated = outcome.simulated
    found = {name: row[name] / simulated[name] - 1 for name in METRICS if simulated.get(name)}
    found |= {name: row[name] - simulated[name] for name in ("goodput_frac", "shed_frac")}
    return found | {"limit_rps": row["limit_rps"] / outcome.overload.rate_rps - 1}


def medians(scores: Iterable[Score], tier: str) -> dict[tuple[str, str, str], tuple[float, float, int]]:
    """Median and 95th percentile of the absolute errors, and their number, by scheduler, band and metric.

    Parameters
    ----------
    scores : iterable of Score
    tier : str
    """
    pooled: dict[tuple[str, str, str], list[float]] = {}
    for one in scores:
        for metric, error in one.errors.get(tier, {}).items():
            pooled.setdefault((one.cell.scheduler, one.cell.band, metric), []).append(abs(error))
    return {
        key: (float(np.median(errors)), float(np.percentile(errors, 95)), len(errors))
        for key, errors in pooled.items()
    }
