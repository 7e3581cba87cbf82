"""Knees as text: what was assumed, the table, and what is to be known of each line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, cast

from qtheory.report import folded, human, pairs, table

from .heading import (
    _hardware,
    _kv_memory,
    _limits_of_steps,
    _model,
    _prefix_cache,
    _replicas,
    _step_time,
    limits_text,
)
from .resolved import load_name

if TYPE_CHECKING:
    from qtheory.planning import Knee
    from validation.answer import Run
    from validation.knees import Asked

__all__ = [
    "KNEES",
    "MARKS",
    "knee_facts",
    "knee_heading",
    "knee_notes",
    "knee_rows",
    "knee_text",
    "load_of",
    "points",
    "shown_columns",
]

MOST_LETTERS = 100  # of a line that is no table
KNEES = {
    "scheduler": "scheduler",
    "knee_rps": "knee (req/s)",
    "predicted_rps": "predicted",
    "fails": "misses",
    "binds": "binds",
    "cliff_slope": "lost by +1 %",
    "cliff_width_frac": "99 to 50 % (%)",
    "answered_by": "answered by",
}
MARKS = {
    "scheduler": "scheduler",
    "strict_rps": "99 % good",
    "half_rps": "50 % good",
    "peak_rate_rps": "most good at",
    "peak_goodput_rps": "good req/s there",
    "power_rps": "power point",
    "limit_rps": "load 1",
    "n_requests": "simulated",
}


class _AsRun:
    """One of the asked in the form that the lines of a heading are made from."""

    def __init__(self, one: Asked) -> None:
        self.replica, self.scenario, self.workload = one.replica, one.scenario, one.workload
        self.result = self
        self.scheduler = one.scenario.scheduler


def knee_heading(asked: Sequence[Asked], goodput_frac: float) -> str:
    """The same as `knee_facts` as text, to stand above the table."""
    return pairs(knee_facts(asked, goodput_frac), most_letters=MOST_LETTERS)


def load_of(one: Asked) -> str:
    """What the load is called: a trace by the name of its file.

    Parameters
    ----------
    one : Asked
    """
    name = load_name(cast("Run", _AsRun(one)))
    return PurePath(name).name if one.scenario.trace is not None else name


def knee_facts(asked: Sequence[Asked], goodput_frac: float) -> dict[str, object]:
    """What was assumed of system, load and limits, as above every other table.

    Parameters
    ----------
    asked : sequence of Asked
        At least one.
    goodput_frac : float
        The share at the knee.
    """
    runs = [cast("Run", _AsRun(one)) for one in asked]
    one, scenario = asked[0], asked[0].scenario
    lengths = one.workload.lengths
    means = f"{lengths.mean_prompt_tokens:,.0f} prompt and {lengths.mean_output_tokens:,.0f} output tokens"
    arrivals = scenario.arrivals if scenario.trace is None else "as recorded"
    return {
        "hardware": _hardware(runs[0]),
        "model": _model(runs[0]),
        "step time": _step_time(runs[0]),
        "KV memory": _kv_memory(runs[0]),
        **_prefix_cache(runs),
        "step": _limits_of_steps(runs),
        **_replicas(runs[0]),
        "load": f"{load_name(runs[0])}, {arrivals}, {means} in the mean",
        "good request": limits_text(one.workload.slo),
        "knee": f"largest rate at which {100 * goodput_frac:g} % of all requests are good",
    }


def knee_text(found: Sequence[Knee]) -> str:
    """The table of knees, that of the other marks, and notes.

    Parameters
    ----------
    found : sequence of Knee
    """
    rows = knee_rows(found)
    blocks = [
        table(rows, shown_columns(rows, KNEES), labels=KNEES),
        f"Other marks of the curves (req/s)\n{table(rows, shown_columns(rows, MARKS), labels=MARKS)}",
    ]
    notes = [folded(note, MOST_LETTERS, 2) for note in knee_notes(found)]
    return "\n\n".join(blocks + (["\n".join(notes)] if notes else []))


def shown_columns(rows: Sequence[Mapping[str, Any]], labels: Mapping[str, str]) -> list[str]:
    """Columns in which there is something to see."""
    return [name for name in labels if any(row.get(name) not in (None, 0) for row in rows)]


def knee_rows(found: Sequence[Knee]) -> list[dict[str, Any]]:
    """A row a scheduler for the tables, a knee that is not there in words."""
    return [_shown(one) for one in found]


def knee_notes(found: Sequence[Knee]) -> list[str]:
    """What is to be known of each line, said once where it holds for several."""
    return _grouped([f"{one.scheduler}: {note}" for one in found for note in _said(one)])


def _shown(one: Knee) -> dict[str, Any]:
    row = one.row()
    row["answered_by"] = one.answered_by.replace("simulation from theory, ", "simulation from ")
    if one.knee_rps is None:
        row["knee_rps"] = "never"
        row["fails"] = one.fails
    elif one.answered_by.startswith("theory") and one.knee_rps_low and one.knee_rps_high:
        low, high = (f"{edge:.3g}" for edge in (one.knee_rps_low, one.knee_rps_high))
        row["knee_rps"] = f"{one.knee_rps:.4g} ({low} to {high})"  # not in the middle: a bias is known
    if one.cliff_slope is not None:
        row["cliff_slope"] = points(one.cliff_slope)
    return row


def points(number: float) -> str:
    """A number of percentage points in words.

    Examples
    --------
    >>> points(1.04), points(0.952)
    ('1 point', '0.95 points')
    """
    shown = f"{number:.2g}"
    return f"{shown} point" if shown == "1" else f"{shown} points"


def _said(one: Knee) -> list[str]:
    notes = list(one.notes)
    if one.knee_rps is None:
        best = max((good for _, good, *_ in one.curve), default=None)
        share = "" if best is None else f" (at best {human('goodput_frac', best)})"
        notes.insert(0, f"never {100 * one.goodput_frac:g} % good, at any rate{share}")
    return notes


def _grouped(notes: Sequence[str]) -> list[str]:
    """Notes that several schedulers share, said once."""
    by_text: dict[str, list[str]] = {}
    for note in notes:
        name, _, text = note.partition(": ")
        by_text.setdefault(text, []).append(name)
    return [f"{', '.join(names)}: {text}" for text, names in by_text.items()]
