"""The page of `sched-sim validate agreement --report`: what agrees, what does not, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qtheory.basics.units import label
from qtheory.report import Page, Section
from qtheory.system.provenance import Provenance
from validation.agreement import (
    Score,
    Stored,
    Target,
    TextTable,
    band_table,
    bands_of,
    cell_table,
    draw_agreement,
    group_table,
    groups_of,
    refusals,
    summary_of,
    target_table,
    targets_of,
)
from validation.agreement.tolerances import TOLERANCES, tolerance

from ._words import command_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["agreement_page", "kept_words", "picture"]

_WORDS = ("within", "outside", "undecided")
_MOST_SHOWN = 12


def picture(found: Stored) -> Figure:
    """Predicted against simulated.

    Parameters
    ----------
    found : Stored

    Raises
    ------
    ConfigError
        If no cell has a prediction.
    """
    title = f"Predicted and simulated: {_design(found)}; band: allowed"
    return draw_agreement(found.scores, title=title)


def agreement_page(found: Stored, inputs: Mapping[str, str]) -> Page:
    """The page, which says no number that the text does not say.

    Parameters
    ----------
    found : Stored
    inputs : mapping
        Fingerprint of the file that it was read from.
    """
    scores = found.scores
    targets = targets_of(scores)
    refused = refusals(scores)
    sections = [
        *_pictures(found),
        _table("Targets", target_table(targets)),
        *_outside(scores),
        Section(
            title="What binds",
            text=["By what stands in the way of a higher stability limit, as theory says it."],
            rows=_by_binding(scores),
            labels={"binds": "binds", "n_cells": "cells"},
        ),
        _table("By scheduler and load", band_table(bands_of(scores))),
        _table("By scheduler, load, memory and arrivals", group_table(groups_of(scores))),
        _assumed(scores),
        _table("Cell by cell", cell_table(scores)),
        *([Section(title="Refused by the numeric tier", text=refused)] if refused else []),
    ]
    return Page(
        title=f"Theory against simulator: {_design(found)}",
        answer=[*_answer(scores, targets), *kept_words(found)],
        sections=sections,
        command=command_line(),
        provenance=_origin(found),
        inputs=inputs,
    )


def kept_words(found: Stored) -> list[str]:
    """Where the simulated side comes from, if it was kept.

    Parameters
    ----------
    found : Stored
    """
    note = found.provenance.get("simulations")
    return [f"Simulated side: {note}."] if isinstance(note, str) else []


def _design(found: Stored) -> str:
    n = len(found.scores)
    cells = f"{n} cell" if n == 1 else f"{n} cells"
    grid = found.provenance.get("grid")
    return cells if grid is None else f"{grid}, {cells}"


def _origin(found: Stored) -> Provenance:
    """Version and design as they were written; the seed is that of the simulation."""
    said = dict(found.provenance)
    effort = said.pop("effort", None)
    effort = dict(effort) if isinstance(effort, dict) else {}
    seed = effort.pop("seed", 0)
    design = {name: value for name, value in (said | effort).items() if value is not None}
    version = str(design.pop("version", "unknown"))
    return Provenance(version=version, scenario=design, seed=seed)


def _answer(scores: Sequence[Score], targets: Sequence[Target]) -> list[str]:
    """How many cells agree, how many targets are met, and what that says."""
    counts = summary_of(scores)
    n_judged = sum(counts.get(word, 0) for word in _WORDS)
    parts = [f"{counts.get(word, 0)} {word}" for word in _WORDS]
    others = [f"{k} {word}" for word, k in counts.items() if word not in (*_WORDS, "n_cells")]
    rest = f" Not judged: {', '.join(others)}." if others else ""
    missed = [target.name for target in targets if target.verdict == "missed"]
    held = [target for target in targets if target.verdict != "no cells"]
    verdict = f"{len(held) - len(missed)} of {len(held)} targets are met"
    return [
        f"Of {n_judged} judged cells {', '.join(parts)}.{rest}",
        f"{verdict}; missed: {'; '.join(missed)}." if missed else f"{verdict}.",
        "A cell is undecided where the simulation is not sharp enough to tell; it never counts as passed, "
        "and its error is taken for infinite in the 95th percentile of a target.",
    ]


def _pictures(found: Stored) -> list[Section]:
    if not any(one.errors.get("numeric") for one in found.scores):
        return []
    caption = "A mark a cell, filled where it is decided; the band is what is allowed up to a load of 0.8."
    return [Section(title="Predicted and simulated", figure=picture(found), caption=caption)]


def _table(title: str, table: TextTable) -> Section:
    places = [str(place) for place in range(len(table.head))]
    return Section(
        title=title,
        text=[f"{table.title}."],
        rows=[dict(zip(places, row, strict=True)) for row in table.rows],
        labels=dict(zip(places, table.head, strict=True)),
    )


def _outside(scores: Sequence[Score]) -> list[Section]:
    """Decided errors beyond what is allowed, largest first against it."""
    rows: list[dict[str, Any]] = []
    for one in scores:
        if one.verdict("numeric") != "outside":
            continue
        for metric in TOLERANCES:
            if one.judged("numeric", metric) == "outside":
                rows.append(_error(one, metric))
    rows.sort(key=lambda row: -abs(row["error_frac"]) / row["allowed_frac"])
    more = f" The {_MOST_SHOWN} largest of {len(rows)}." if len(rows) > _MOST_SHOWN else ""
    if not rows:
        return []
    text = f"Errors of the numeric tier that the simulation is sharp enough to call too large.{more}"
    return [Section(title="Outside what is allowed", text=[text], rows=rows[:_MOST_SHOWN])]


def _error(one: Score, metric: str) -> dict[str, Any]:
    cell = one.cell
    return {
        "cell": cell.number,
        "scheduler": cell.scheduler,
        "system": f"{cell.model} on {cell.hardware}, {cell.workload}, {cell.memory}, {cell.arrivals}",
        "load": cell.load_frac,
        "metric": label(metric),
        "simulated": one.simulated[metric],
        "predicted": one.predicted["numeric"][metric],
        "error_frac": one.errors["numeric"][metric],
        "allowed_frac": tolerance(cell, metric),
    }


def _by_binding(scores: Sequence[Score]) -> list[dict[str, Any]]:
    groups: dict[str, list[Score]] = {}
    for one in scores:
        groups.setdefault(one.binds or "not said", []).append(one)
    rows = []
    for binds, some in groups.items():
        counts = Counter(one.verdict("numeric") for one in some)
        rows.append({"binds": binds, "n_cells": len(some)} | {word: counts[word] for word in _WORDS})
    return rows


def _assumed(scores: Sequence[Score]) -> Section:
    """What is allowed, as formulas, and one cell with its numbers in them."""
    lines = [
        "load      = arrival rate / rate that the simulator serves with a queue that never empties",
        "error     = predicted / simulated - 1",
        *(f"allowed   = {allowed:.0%} for {label(metric)}" for metric, allowed in TOLERANCES.items()),
        "            up to a load of 0.8, twice that at 0.9, not judged above",
        "decided   if the half-width of the simulated 95 % interval is at most a third of what is allowed",
    ]
    return Section(title="What is compared", formulas=lines + _example(scores))


def _example(scores: Sequence[Score]) -> list[str]:
    """The formulas with the numbers of the first cell that has them all."""
    metric = next(iter(TOLERANCES))
    for one in scores:
        half, rate = one.simulated.get(f"{metric}_half"), one.simulated.get("rate_rps")
        error = one.errors.get("numeric", {}).get(metric)
        if half is None or rate is None or error is None or one.overload is None:
            continue
        simulated, predicted = one.simulated[metric], one.predicted["numeric"][metric]
        full, allowed = one.overload.rate_rps, tolerance(one.cell, metric)
        return [
            "",
            f"cell {one.cell.number}: load {rate:.4g} / {full:.4g} req/s = {rate / full:.3g}",
            f"    {label(metric)}: {predicted:.4g} / {simulated:.4g} - 1 = {error:+.2%}",
            f"    allowed {allowed:.0%}; half-width {half:.2%}, against a third of that, {allowed / 3:.2%}: "
            f"{one.judged('numeric', metric)}",
        ]
    return []
