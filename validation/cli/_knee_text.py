"""Knees as text: what was assumed, the table, and what is to be known of each line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from qtheory.report import human, pairs, table

from .heading import _hardware, _limits_of_steps, _model, _prefix_cache, _replicas, _step_time, limits_text

if TYPE_CHECKING:
    from qtheory.planning import Knee
    from validation.answer import Run
    from validation.knees import Asked

__all__ = ["knee_heading", "knee_text"]

_KNEES = {
    "scheduler": "scheduler",
    "knee_rps": "knee (req/s)",
    "predicted_rps": "predicted",
    "fails": "misses",
    "binds": "binds",
    "cliff_slope": "lost by +1 % rate",
    "cliff_width_frac": "99 to 50 % (% of knee)",
    "answered_by": "answered by",
}
_MARKS = {
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
    """Lines on system, load and limits, as above every other table.

    Parameters
    ----------
    asked : sequence of Asked
        At least one.
    goodput_frac : float
        The share at the knee.
    """
    runs = [cast("Run", _AsRun(one)) for one in asked]
    one, scenario = asked[0], asked[0].scenario
    spec, lengths = one.replica, one.workload.lengths
    blocks = "given" if scenario.kv_blocks is not None else "computed"
    load = scenario.trace or ("own lengths" if scenario.prompt and scenario.output else scenario.workload)
    means = f"{lengths.mean_prompt_tokens:,.0f} prompt and {lengths.mean_output_tokens:,.0f} output tokens"
    arrivals = scenario.arrivals if scenario.trace is None else "as recorded"
    lines: dict[str, object] = {
        "hardware": _hardware(runs[0]),
        "model": _model(runs[0]),
        "step time": _step_time(runs[0]),
        "KV memory": f"{spec.n_blocks:,} blocks of {spec.block_tokens} tokens ({blocks})",
        **_prefix_cache(runs),
        "step": _limits_of_steps(runs),
        **_replicas(runs[0]),
        "load": f"{load}, {arrivals}, {means} in the mean",
        "good request": limits_text(one.workload.slo),
        "knee": f"largest rate at which {100 * goodput_frac:g} % of all requests are good",
    }
    return pairs(lines)


def knee_text(found: Sequence[Knee]) -> str:
    """The table of knees, that of the other marks, and notes.

    Parameters
    ----------
    found : sequence of Knee
    """
    rows = [_shown(one) for one in found]
    blocks = [
        table(rows, [name for name in _KNEES if _any(rows, name)], labels=_KNEES),
        "Other marks of the curves (req/s)\n"
        + table(rows, [name for name in _MARKS if _any(rows, name)], labels=_MARKS),
    ]
    notes = [f"{one.scheduler}: {note}" for one in found for note in _said(one)]
    return "\n\n".join(blocks + (["\n".join(_grouped(notes))] if notes else []))


def _any(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return any(row.get(name) not in (None, 0) for row in rows)


def _shown(one: Knee) -> dict[str, Any]:
    row = one.row()
    if one.knee_rps is None:
        row["knee_rps"] = "never"
        row["fails"] = one.fails
    if one.cliff_slope is not None:
        row["cliff_slope"] = f"{one.cliff_slope:.2g} points"
    return row


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
