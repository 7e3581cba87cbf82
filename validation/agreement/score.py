"""One cell: simulation, both tiers of the theory, the baselines, and how far apart they are."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from qtheory.basics.errors import ServingError
from qtheory.predict import MODELLED_SCHEDULERS

from ._simulate import asked, numbers_of, simulate_until, within_reach
from ._theory import ABOVE_LIMIT, ANSWERERS, NO_MODEL, say
from .capacity import Overload, overload_rps
from .effort import Effort
from .grid import Cell
from .knees import Knee, find_knee

__all__ = ["METRICS", "TOLERANCES", "Score", "errors_of", "score", "tolerance"]

METRICS = (
    "mean_ttft_s", "p50_ttft_s", "p90_ttft_s", "p99_ttft_s", "mean_tpot_s", "p50_tpot_s", "p90_tpot_s",
    "p99_tpot_s", "mean_itl_s", "p99_itl_s", "mean_e2e_s", "p99_e2e_s",
)  # fmt: skip
"""What is compared as a relative error; goodput is compared as a difference."""

TOLERANCES = {"mean_ttft_s": 0.06, "mean_tpot_s": 0.06, "p99_ttft_s": 0.12, "p99_tpot_s": 0.12}
"""Largest relative error up to a load of 0.8; twice that at 0.9; above, errors are listed, not judged."""

_JUDGED = 0.9


def tolerance(cell: Cell, metric: str) -> float:
    """Largest relative error of a metric in a cell.

    Parameters
    ----------
    cell : Cell
    metric : str
        One of `TOLERANCES`.
    """
    return TOLERANCES[metric] * (2 if cell.load_frac > 0.8 else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a cell showed.

    Parameters
    ----------
    cell : Cell
    overload : Overload or None
        None if the cell could not be simulated.
    kind : str
        How far the simulated numbers reach; or why there are none.
    binds : str
        What binds at the limit, by the theory; empty if it does not say.
    simulated : dict
        The columns of the result, and half widths of 95 % intervals as ``NAME_half``, relative.
    predicted : dict
        By answerer: its numbers.
    errors : dict
        By answerer and metric: predicted over simulated less one (``goodput_frac`` and ``shed_frac``:
        predicted less simulated; ``limit_rps``: limit over overload less one).
    refused : dict
        By answerer: why it gives no numbers.
    knee : Knee or None
    """

    cell: Cell
    overload: Overload | None
    kind: str
    binds: str = ""
    simulated: dict[str, float] = field(default_factory=dict)
    predicted: dict[str, dict[str, float]] = field(default_factory=dict)
    errors: dict[str, dict[str, float]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    knee: Knee | None = None

    @property
    def is_overloaded(self) -> bool:
        """Whether the cell asks for more than the simulator can take."""
        return self.cell.load_frac >= 1

    def answered(self, tier: str) -> bool:
        """Whether a tier gave numbers, or said rightly that the rate is above the limit."""
        told = self.is_overloaded and self.refused.get(tier) == ABOVE_LIMIT
        return told or bool(self.errors.get(tier))

    def judged(self, tier: str, metric: str) -> str:
        """``within``, ``outside``, or ``undecided`` where the simulation is not sharp enough to tell."""
        error = self.errors.get(tier, {}).get(metric)
        if error is None:
            return "refused"
        allowed = tolerance(self.cell, metric)
        if self.kind != "steady state" or self.simulated.get(f"{metric}_half", math.inf) > allowed / 3:
            return "undecided"
        return "within" if abs(error) <= allowed else "outside"

    def verdict(self, tier: str) -> str:
        """Of the cell: ``within`` if all metrics are, ``outside`` if one is; ``overload told``, ``refused``,
        ``undecided``, ``listed`` (above a load of 0.9, where nothing is judged) or ``not simulated``."""
        if self.overload is None:
            return "refused" if self.kind == NO_MODEL else "not simulated"
        if not self.answered(tier):
            return "refused"
        if self.is_overloaded:
            return "overload told" if tier in self.refused else "listed"
        if self.cell.load_frac > _JUDGED:
            return "listed"
        found = [self.judged(tier, metric) for metric in TOLERANCES]
        return next((word for word in ("outside", "undecided") if word in found), "within")

    def row(self) -> dict[str, Any]:
        """Plain values, one key a field."""
        return asdict(self)

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> Score:
        """The score that `row` was made of."""
        parts: dict[str, Any] = {"cell": Cell(**row["cell"])}
        for name, kind in (("overload", Overload), ("knee", Knee)):
            parts[name] = None if row[name] is None else kind(**row[name])
        return cls(**row | parts)


def score(cell: Cell, effort: Effort, *, overload: Overload | None = None) -> Score:
    """Simulate a cell until it is sharp enough, and ask the theory and the baselines about it.

    The theory is asked about the very requests that were simulated (their lengths and their mean rate). A
    cell that the simulator refuses has a score that says why.

    Parameters
    ----------
    cell : Cell
    effort : Effort
    overload : Overload, optional
        If it is known already.
    """
    if cell.scheduler not in MODELLED_SCHEDULERS:  # there is nothing to hold a simulation against
        return Score(cell=cell, overload=None, kind=NO_MODEL, refused=dict.fromkeys(ANSWERERS, NO_MODEL))
    scenario = cell.scenario()
    try:
        effort = within_reach(scenario, effort)
        found = overload or overload_rps(scenario, n_requests=effort.overload_requests)
        wanted = {name: tolerance(cell, name) / 3 for name in TOLERANCES if cell.load_frac < 1}
        at_load = replace(scenario, rate_rps=cell.load_frac * found.rate_rps)
        simulated, result = simulate_until(at_load, effort, wanted)
    except ServingError as error:
        return Score(cell=cell, overload=None, kind=str(error), refused=dict.fromkeys(ANSWERERS, str(error)))
    outcome = Score(cell=cell, overload=found, kind=result.kind, simulated=numbers_of(result))
    question = asked(simulated, effort)
    horizon = simulated.requests if outcome.is_overloaded else None
    for name in ANSWERERS:
        said = say(name, question, n_requests=horizon)
        if said.refusal:
            outcome.refused[name] = said.refusal
        outcome = replace(outcome, binds=said.row.get("binds", outcome.binds))
        numbers = {key: float(value) for key, value in said.row.items() if not isinstance(value, str)}
        outcome.predicted[name] = numbers
        outcome.errors[name] = errors_of(numbers, outcome)
    if effort.knee_requests:
        outcome = replace(outcome, knee=find_knee(scenario, found.rate_rps, effort))
    return outcome


def errors_of(numbers: dict[str, float], outcome: Score) -> dict[str, float]:
    """Errors of an answerer; one that only told its limit has no others."""
    simulated, found = outcome.simulated, {}
    for name in METRICS:
        if name in numbers and simulated.get(name):
            found[name] = numbers[name] / simulated[name] - 1
    for name in ("goodput_frac", "shed_frac"):
        if name in numbers and name in simulated:
            found[name] = numbers[name] - simulated[name]
    if found and "limit_rps" in numbers and outcome.overload is not None:
        found["limit_rps"] = numbers["limit_rps"] / outcome.overload.rate_rps - 1
    return found
