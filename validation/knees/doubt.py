"""``python -m validation.knees.doubt``: predicted knees against simulated ones, on systems that are drawn.

It writes the table from which `qtheory.planning` takes how far a predicted knee can be off. Rows that are in
the file already are kept; ``--again`` begins anew, ``--predict`` renews the predictions alone, after a change
of the models. Some twenty seconds a system, of which half a dozen are of the predictions.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from qtheory import planning
from qtheory.basics.errors import ServingError
from qtheory.planning import Knee, Theory, marks
from qtheory.planning.knee_errors import KneeError
from qtheory.predict import TIERS
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload.from_scenario import workload_of
from validation.refine import Goal, Refined, refine

from .drawn import System, drawn

__all__ = ["main", "measured", "repredicted"]

FILE = Path(planning.__file__).with_name("knee_errors.csv")
N_ROUNDS = 3
_GOAL = Goal(precision=0.02, max_requests=200_000)
_NAMES = [field.name for field in fields(KneeError)]


def main(words: Sequence[str] | None = None) -> int:
    """Measure what is missing in the file; 2 for bad input."""
    parser = argparse.ArgumentParser(
        prog="python -m validation.knees.doubt", description="Predicted knees against simulated ones."
    )
    parser.add_argument("--out", type=Path, default=FILE, help="the table [that of the package]")
    parser.add_argument("--rounds", type=int, default=N_ROUNDS, help=f"of six a scheduler [{N_ROUNDS}]")
    parser.add_argument("--again", action="store_true", help="measure all, not only what is missing")
    parser.add_argument("--predict", action="store_true", help="predict all again, simulate what is missing")
    asked = parser.parse_args(words)
    try:
        systems = list(dict.fromkeys(drawn(asked.rounds)))
        known = {} if asked.again else _known(asked.out)
        for place, system in enumerate(systems):
            if system not in known or asked.predict:
                before = known.get(system)
                known[system] = _texts(measured(system)) if before is None else repredicted(system, before)
                _write(asked.out, [known[one] for one in systems if one in known])
                print(f"{place + 1} of {len(systems)}: {_said(known[system])}", flush=True)
    except (ServingError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def measured(system: System, goal: Goal = _GOAL) -> KneeError:
    """Both predictions of a system's knee, and the simulation.

    Parameters
    ----------
    system : System
    goal : Goal, optional
        How well the simulated knee is to be known.
    """
    scenario = system.scenario()
    tiers = _predicted(scenario)
    best = tiers.get("numeric") or tiers.get("closed")
    found = None if best is None else _simulated(scenario, best, goal)
    return KneeError(
        **asdict(system),
        **_columns(tiers),
        simulated_rps=None if found is None else found.rate_rps,
        low_rps=None if found is None else found.low_rps,
        high_rps=None if found is None else found.high_rps,
        n_requests=0 if found is None else found.n_requests,
    )


def repredicted(system: System, row: dict[str, str]) -> dict[str, str]:
    """The row of a system with predictions of today; its simulation does not depend on them.

    Parameters
    ----------
    system : System
    row : dict
        Of the table.
    """
    return row | {name: _text(value) for name, value in _columns(_predicted(system.scenario())).items()}


def _predicted(scenario: Scenario) -> dict[str, Knee]:
    """Knees by the tiers that answer."""
    spec, workload = replica_of(scenario), workload_of(scenario)
    found = {}
    for tier in TIERS:
        try:
            theory = Theory(replica=spec, workload=workload, scheduler=scenario.scheduler, tier=tier)
            found[tier] = marks(theory)
        except ServingError:
            continue
    return found


def _columns(tiers: dict[str, Knee]) -> dict[str, Any]:
    best = tiers.get("numeric") or tiers.get("closed")
    rates = {f"{tier}_rps": tiers[tier].knee_rps if tier in tiers else None for tier in TIERS}
    return {"binds": (best.binds if best else None) or "", **rates}


def _simulated(scenario: Scenario, predicted: Knee, goal: Goal) -> Refined | None:
    """The knee by simulation; None if so many requests do not show one."""
    if not predicted.knee_rps:
        return None
    slope = None
    if predicted.cliff_slope is not None:
        slope = min(max(predicted.cliff_slope / (1 - goal.goodput_frac), 1.5), 80.0)
    try:
        return refine(scenario, start_rps=predicted.knee_rps, slope=slope, goal=goal)
    except ServingError:
        return None


def _known(path: Path) -> dict[System, dict[str, str]]:
    """Rows of a table by their system; none if it is not there."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {_system(row): row for row in csv.DictReader(file)}


def _system(row: dict[str, str]) -> System:
    texts = {field.name: row[field.name] for field in fields(System)}
    return System(**texts | {"tp": int(row["tp"])})  # type: ignore[arg-type]


def _texts(found: KneeError) -> dict[str, str]:
    return {name: _text(value) for name, value in asdict(found).items()}


def _text(value: object) -> str:
    return "" if value is None else f"{value:.5g}" if isinstance(value, float) else str(value)


def _write(path: Path, rows: Sequence[dict[str, str]]) -> None:
    """The whole table in one go, so that an end in between leaves the old one."""
    new = path.with_name(path.name + ".partial")
    with new.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, _NAMES, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    new.replace(path)


def _said(row: dict[str, str]) -> str:
    words = [row[name] for name in ("scheduler", "hardware", "workload", "memory", "arrivals")]
    rates = [f"{name.removesuffix('_rps')} {row[name] or '-'}" for name in _NAMES if name.endswith("_rps")]
    return ", ".join(words + rates)


if __name__ == "__main__":
    sys.exit(main())
