"""The page of `sched-sim knee --report`: how much load, how sure that is, and what stands in the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qtheory.report import Page, Section, human
from qtheory.system.provenance import Provenance

from ._knee_sure import certainty, close_to
from ._knee_text import KNEES, MARKS, knee_facts, knee_notes, knee_rows, load_of, points, shown_columns
from ._words import command_line

if TYPE_CHECKING:
    from qtheory.planning import Knee
    from qtheory.system.scenario import Scenario
    from validation.knees import Asked

__all__ = ["knee_page", "origin_of", "sums"]


def origin_of(scenario: Scenario) -> Provenance:
    """Version, seed, and the scenario without the scheduler, of which there are several.

    Parameters
    ----------
    scenario : Scenario
    """
    said = scenario.changed()
    said.pop("scheduler", None)
    return Provenance(scenario=said, seed=scenario.seed)


def knee_page(
    asked: Sequence[Asked],
    found: Sequence[Knee],
    said: Mapping[str, Mapping[str, Any]],
    *,
    level: float,
    inputs: Mapping[str, str],
) -> Page:
    """The page, which says no number that the text and its explanations do not say.

    Parameters
    ----------
    asked : sequence of Asked
    found : sequence of Knee
        One for each.
    said : mapping
        Explanations by scheduler, as `_knee_explain.explanations` gives them.
    level : float
        Coverage of the intervals.
    inputs : mapping
        Fingerprints of the files that were read.
    """
    first = asked[0]
    rows = knee_rows(found)
    notes = knee_notes(found)
    sections = [
        *_picture(asked, found),
        Section(title="Knees", rows=rows, columns=shown_columns(rows, KNEES), labels=KNEES),
        Section(title="What binds", text=[_binding(one) for one in found]),
        Section(
            title="Other marks of the curves (req/s)",
            rows=rows,
            columns=shown_columns(rows, MARKS),
            labels=MARKS,
        ),
        Section(title="What was assumed", facts=knee_facts(asked, found[0].goodput_frac)),
        *([Section(title="To be known", text=notes)] if notes else []),
        *(part for name, parts in said.items() for part in sums(name, parts)),
    ]
    return Page(
        title=f"How much load: {first.replica.model.name} on {first.replica.hardware.name}, {load_of(first)}",
        answer=_answer(found, level),
        sections=sections,
        command=command_line(),
        provenance=origin_of(first.scenario),
        inputs=inputs,
    )


def _answer(found: Sequence[Knee], level: float) -> list[str]:
    """The largest knee, how well it is known, and what is as good."""
    known = [one for one in found if one.knee_rps]
    share = f"{100 * found[0].goodput_frac:g} %"
    if not known:
        names = ", ".join(one.scheduler for one in found)
        return [f"No rate has {share} of all requests good, with {names}."]
    knee = max(known, key=lambda one: one.knee_rps or 0.0)
    most = f", the most of {len(found)} schedulers" if len(found) > 1 else ""
    lines = [f"{knee.scheduler} takes {knee.knee_rps:.4g} requests/s with {share} of them good{most}."]
    lines.append(certainty(knee, level))
    close = close_to(knee, known)
    if close:
        lines.append(f"Too close to it to be told apart: {', '.join(close)}.")
    return [*lines, _binding(knee)]


def _binding(one: Knee) -> str:
    """What stands in the way, what is missed first, and how steeply it goes down, in a sentence each."""
    verb = "bind" if (one.binds or "").endswith("s") else "binds"
    words = [f"{one.binds} {verb}" if one.binds else "nothing is seen to bind"]
    if one.knee_rps and one.fails:
        words.append(f"beyond the knee most requests miss {one.fails}")
    if one.cliff_slope is not None:
        words.append(f"1 % more load costs {points(one.cliff_slope)} of goodput")
    if one.cliff_width_frac is not None:
        words.append(f"from 99 % to 50 % good is {human('width_frac', one.cliff_width_frac)} of the knee")
    return f"{one.scheduler}: {'; '.join(words)}."


def _picture(asked: Sequence[Asked], found: Sequence[Knee]) -> list[Section]:
    if not any(one.curve for one in found):
        return []
    from ._knee_plot import draw_knees

    caption = "Share of good requests against the arrival rate; a dot marks each knee, a bar its interval."
    if any(low is not None for one in found for _, _, low, _ in one.curve):
        caption += " Simulated curves have marks and a band of two standard errors."
    return [Section(title="Goodput against the rate", figure=draw_knees(found, asked), caption=caption)]


def sums(name: str, parts: Mapping[str, Any]) -> list[Section]:
    """Formulas with the numbers in them, and what a tenth of each input buys.

    Parameters
    ----------
    name : str
        Of the scheduler.
    parts : mapping
        What `_knee_explain.explanations` says of it.
    """
    title = f"Formulas with their numbers: {name}"
    if "why_not" in parts:
        return [Section(title=title, text=[f"{parts['why_not']}."])]
    lines = [
        text
        for line in parts["formulas"]
        for text in (line["what"], f"    {line['formula']}", f"    {line['numbers']}")
    ]
    moves = Section(
        title=f"What moves the knee: {name}",
        text=["By closed forms, each input alone; a dash where they have no answer."],
        rows=parts["moves"],
        labels={"what": "change", "knee_change_frac": "knee (%)"},
    )
    first = "At the knee, to first order and by hand; what the model says stands beside."
    return [Section(title=title, text=[first], formulas=lines), *([moves] if parts["moves"] else [])]
