"""What ``--explain`` adds: formulas with numbers, and what a tenth of each input buys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

from qtheory.basics.errors import ServingError
from qtheory.report import folded

if TYPE_CHECKING:
    from qtheory.planning import Knee
    from validation.knees import Asked

__all__ = ["explained_text", "explanations"]

_MOST_LETTERS = 110  # of a line
_LEAST = 0.0005  # change of a knee to speak of


def explanations(
    asked: Sequence[Asked], found: Sequence[Knee], *, executor: Executor | None = None
) -> dict[str, dict[str, Any]]:
    """By scheduler: formulas, and changes of the knee; a reason where there is no model.

    Parameters
    ----------
    asked : sequence of Asked
    found : sequence of Knee
        One for each.
    executor : concurrent.futures.Executor, optional
        Where each scheduler is explained (default: here, one after the other).
    """
    each = map if executor is None else executor.map
    return dict(zip((knee.scheduler for knee in found), each(_explanation, asked, found), strict=True))


def _explanation(one: Asked, knee: Knee) -> dict[str, Any]:
    from qtheory.planning import explained, moves
    from validation.knees import why_not_covered

    why = why_not_covered(one.scenario, one.replica, one.workload)
    if why is not None:
        return {"why_not": f"{why}: nothing to explain it by; change an input and ask again"}
    try:
        lines = explained(one.replica, one.workload, knee) if knee.knee_rps else []
    except ServingError as error:
        return {"why_not": str(error)}
    name = one.replica.scheduler.name
    changes = moves(one.replica, one.workload, scheduler=name, goodput_frac=knee.goodput_frac)
    return {
        "formulas": [{"what": x.what, "formula": x.formula, "numbers": x.numbers} for x in lines],
        "moves": [{"what": x.what, "knee_change_frac": x.knee_change_frac} for x in changes],
    }


def explained_text(said: Mapping[str, Mapping[str, Any]]) -> str:
    """The same for people.

    Parameters
    ----------
    said : mapping
        As `explanations` gives it.
    """
    return "\n\n".join(_block(name, parts) for name, parts in said.items())


def _block(name: str, parts: Mapping[str, Any]) -> str:
    if "why_not" in parts:
        return folded(f"{name}: {parts['why_not']}", _MOST_LETTERS, 2)
    lines = [f"{name}, at its knee"]
    rows = [(line["what"], line["formula"], line["numbers"]) for line in parts["formulas"]]
    widths = [max((len(row[i]) for row in rows), default=0) for i in (0, 1)]
    indent = 2 + widths[0] + 2 + widths[1] + 2
    lines += [
        folded(f"  {what:<{widths[0]}}  {formula:<{widths[1]}}  {numbers}", _MOST_LETTERS, indent)
        for what, formula, numbers in rows
    ]
    return "\n".join([*lines, *_moves(parts["moves"])])


def _moves(changes: Sequence[Mapping[str, Any]]) -> list[str]:
    if not changes:
        return ["  what moves the knee: the closed forms have no answer here"]
    width = max(len(change["what"]) for change in changes)
    lines = ["  what moves the knee (closed forms, each input alone)"]
    small = []
    for change in changes:
        value = change["knee_change_frac"]
        if value is not None and abs(value) < _LEAST:
            small.append(change["what"].removeprefix("10 % "))
            continue
        shown = "no answer" if value is None else f"{100 * value:+.1f} %"
        lines.append(f"    {change['what']:<{width}}   {shown:>8}")
    return lines + ([f"    nothing by 10 % {', '.join(small)}"] if small else [])
