"""One cell: simulation, both tiers of the theory, the baselines, and how far apart they are."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from qtheory.predict import MODELLED_SCHEDULERS
from qtheory.system.scenario import Scenario

from ._knee_predicted import predicted_knees
from ._simulate import Asked, asked, asked_of_law
from ._theory import ABOVE_LIMIT, ANSWERERS, NO_MODEL, say
from .capacity import Overload
from .effort import Effort
from .grid import Cell
from .knees import Knee
from .simulated import CONTROLLED, Simulated, simulate_cell
from .tolerances import METRICS, TOLERANCES, tolerance

__all__ = ["Score", "errors_of", "score"]

_JUDGED = 0.9


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
        predicted less simulated; ``limit_rps``: limit over that of the simulator less one).
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


def score(cell: Cell, effort: Effort, simulated: Simulated | None = None) -> Score:
    """Simulate a cell until it is sharp enough, and ask the theory and the baselines about it.

    The theory is asked about the very requests that were simulated (their lengths and their mean rate). A
    cell that the simulator refuses has a score that says why.

    Parameters
    ----------
    cell : Cell
    effort : Effort
    simulated : Simulated, optional
        Its simulated side with this effort, if it is known already.
    """
    if cell.scheduler not in MODELLED_SCHEDULERS:  # there is nothing to hold a simulation against
        return Score(cell=cell, overload=None, kind=NO_MODEL, refused=dict.fromkeys(ANSWERERS, NO_MODEL))
    found = simulate_cell(cell, effort) if simulated is None else simulated
    outcome = Score(cell=cell, overload=found.overload, kind=found.kind, simulated=_sharpest(found.numbers))
    if found.overload is None:
        return replace(outcome, refused=dict.fromkeys(ANSWERERS, found.kind))
    rate_rps = cell.load_frac * found.overload.rate_rps
    at_load = replace(cell.scenario(), rate_rps=rate_rps, requests=found.n_requests, seed=effort.seed)
    question = asked(at_load, effort)
    horizon = at_load.requests if outcome.is_overloaded else None
    for name in ANSWERERS:
        said = say(name, question, n_requests=horizon)
        if said.refusal:
            outcome.refused[name] = said.refusal
        outcome = replace(outcome, binds=said.row.get("binds", outcome.binds))
        numbers = {key: float(value) for key, value in said.row.items() if not isinstance(value, str)}
        outcome.predicted[name] = numbers
        outcome.errors[name] = errors_of(numbers, outcome)
    return replace(outcome, knee=_knee(found, at_load, question, effort))


def _sharpest(numbers: dict[str, float]) -> dict[str, float]:
    """The columns, with those that are freed of chance where their interval is the narrower one."""
    own = {name: value for name, value in numbers.items() if not name.startswith(tuple(CONTROLLED.values()))}
    for name, freed in CONTROLLED.items():
        half = numbers.get(f"{freed}_half", math.inf)
        if half < own.get(f"{name}_half", math.inf):
            own |= {name: numbers[freed], f"{name}_half": half}
    return own


def _knee(found: Simulated, at_load: Scenario, question: Asked, effort: Effort) -> Knee | None:
    """The simulated knee beside those that are predicted for what it is the knee of: the law of the lengths,
    or those that were drawn."""
    if found.knee is None or found.overload is None:
        return None
    runs = math.ceil(found.knee.n_requests / effort.n_replications)
    if found.knee.is_of_law:
        question = asked_of_law(at_load, effort)
    elif runs != at_load.requests:
        question = asked(replace(at_load, requests=runs), effort)
    return Knee(
        rate_rps=found.knee.rate_rps,
        half_frac=found.knee.half_frac,
        predicted_rps=predicted_knees(question, found.overload.rate_rps),
    )


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
        found["limit_rps"] = numbers["limit_rps"] / outcome.overload.limit_rps - 1
    return found
