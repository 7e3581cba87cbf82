"""The comparison as text: cells, groups, targets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ._theory import ANSWERERS
from .groups import Group, Target, bands_of, groups_of, targets_of
from .score import Score

__all__ = [
    "TextTable",
    "agreement_text",
    "band_table",
    "cell_table",
    "group_table",
    "refusals",
    "summary_of",
    "target_table",
]

_SHORT = {"mean_ttft_s": "TTFT", "p99_ttft_s": "p99", "mean_tpot_s": "TPOT", "p99_tpot_s": "p99"}
_LONG = {
    "mean_ttft_s": "mean TTFT",
    "p99_ttft_s": "p99 TTFT",
    "mean_tpot_s": "mean TPOT",
    "p99_tpot_s": "p99 TPOT",
    "limit_rps": "limit",
    "knee_rps": "knee",
}
_COLUMNS = ("mean_ttft_s", "p99_ttft_s", "mean_tpot_s", "p99_tpot_s")
_HEAD = (
    "Errors in per cent, predicted less simulated; * is blurred: the simulation is not known to a third of "
    "the tolerance"
)
_MOST_REASON = 88


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """A table of words and numbers that are written out already.

    Parameters
    ----------
    title : str
    head : sequence of str
    rows : sequence of sequences of str
    n_left : int
        Columns of words, on the left.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    n_left: int

    def text(self) -> str:
        """Aligned lines under the title."""
        lines = [self.head, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        aligned = [self._line(line, widths) for line in lines]
        return "\n".join([self.title, *aligned])

    def markdown(self) -> str:
        """The same as a table of a page, without the title."""
        rule = ["---" if place < self.n_left else "---:" for place in range(len(self.head))]
        return "\n".join(f"| {' | '.join(line)} |" for line in (self.head, rule, *self.rows))

    def _line(self, words: Sequence[str], widths: Sequence[int]) -> str:
        cells = [
            text.ljust(width) if place < self.n_left else text.rjust(width)
            for place, (text, width) in enumerate(zip(words, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()


def summary_of(scores: Sequence[Score], tier: str = "numeric") -> dict[str, int]:
    """Number of cells by verdict of a tier.

    Parameters
    ----------
    scores : sequence of Score
    tier : str
    """
    return {"n_cells": len(scores), **Counter(one.verdict(tier) for one in scores)}


def agreement_text(scores: Sequence[Score]) -> str:
    """Everything, for a person.

    Parameters
    ----------
    scores : sequence of Score
    """
    refused = refusals(scores)
    parts = [
        cell_table(scores).text(),
        group_table(groups_of(scores)).text(),
        band_table(bands_of(scores)).text(),
        "\n".join(["Refused by the numeric tier", *refused]) if refused else "",
        target_table(targets_of(scores)).text(),
    ]
    counts = summary_of(scores)
    n = counts.pop("n_cells")
    parts.append(f"{n} cells: " + ", ".join(f"{k} {word}" for word, k in sorted(counts.items())))
    return "\n\n".join(part for part in parts if part)


def _percent(error: float | None, digits: int = 1) -> str:
    if error is None:
        return "-"
    return f"{100 * error:+.{digits}f}" if math.isfinite(error) else "none"


def cell_table(scores: Sequence[Score]) -> TextTable:
    """A line a cell.

    Parameters
    ----------
    scores : sequence of Score
    """
    names = [_SHORT[name] for name in _COLUMNS]
    head = [
        "cell", "scheduler", "accelerator", "model", "workload", "KV", "arrivals", "load",
        *names, "good", "limit", "knee", *(f"closed {name}" for name in names[:1]), "verdict",
    ]  # fmt: skip
    rows = []
    for one in scores:
        cell, errors = one.cell, one.errors.get("numeric", {})
        marks = [
            _percent(errors.get(name)) + ("*" if one.judged("numeric", name) == "undecided" else "")
            for name in _COLUMNS
        ]
        limit = one.predicted.get("numeric", {}).get("limit_rps")
        simulated_rps = one.overload.limit_rps if one.overload is not None else math.nan
        rows.append(
            [
                str(cell.number), cell.scheduler, cell.hardware, cell.model, cell.workload, cell.memory,
                "poisson" if cell.arrivals == "poisson" else "bursty", f"{cell.load_frac:g}", *marks,
                _percent(errors.get("goodput_frac")),
                _percent(None if limit is None else limit / simulated_rps - 1),
                _percent(one.knee.error("numeric") if one.knee else None),
                _percent(one.errors.get("closed", {}).get("mean_ttft_s")), one.verdict("numeric"),
            ]
        )  # fmt: skip
    return TextTable(title=_HEAD, head=head, rows=rows, n_left=7)


def group_table(groups: Sequence[Group]) -> TextTable:
    """Medians of absolute errors, of both tiers and the baselines.

    Parameters
    ----------
    groups : sequence of Group
    """
    metrics = " / ".join(_SHORT[name] for name in _COLUMNS)
    head = ["scheduler", "load", "KV", "arrivals", "cells", "within", *ANSWERERS]
    rows = []
    for group in groups:
        medians = [
            " / ".join(_size(group.medians[name].get(metric)) for metric in _COLUMNS) for name in ANSWERERS
        ]
        rows.append(
            [group.scheduler, group.band, group.memory, group.arrivals, str(group.n_cells),
             str(group.verdicts.get("within", 0)), *medians]
        )  # fmt: skip
    title = f"Medians of absolute errors in per cent: {metrics}"
    return TextTable(title=title, head=head, rows=rows, n_left=4)


def band_table(groups: Sequence[Group]) -> TextTable:
    """Medians of absolute errors by scheduler and band of loads, knees and limits among them.

    Parameters
    ----------
    groups : sequence of Group
        Of `bands_of`.
    """
    words = ("within", "outside", "undecided")
    head = ["scheduler", "load", "cells", *words, *_LONG.values(), "closed: knee", "closed: mean TTFT"]
    rows = []
    for group in groups:
        numeric, closed = group.medians["numeric"], group.medians["closed"]
        sizes = [*map(numeric.get, _LONG), closed.get("knee_rps"), closed.get("mean_ttft_s")]
        counts = [str(group.verdicts.get(word, 0)) for word in words]
        rows.append([group.scheduler, group.band, str(group.n_cells), *counts, *map(_size, sizes)])
    title = "Medians of absolute errors in per cent, of the numeric tier and of the closed one"
    return TextTable(title=title, head=head, rows=rows, n_left=2)


def _size(error: float | None) -> str:
    return "-" if error is None else f"{100 * error:.1f}" if error < 10 else ">1000"


def refusals(scores: Sequence[Score]) -> list[str]:
    """Why cells have no answer of the numeric tier, a line each.

    Parameters
    ----------
    scores : sequence of Score
    """
    return [
        f"cell {one.cell.number} ({one.cell.scheduler}): {_cut(one.refused.get('numeric', one.kind))}"
        for one in scores
        if one.verdict("numeric") in ("refused", "not simulated")
    ]


def _cut(reason: str) -> str:
    return reason if len(reason) <= _MOST_REASON else reason[: _MOST_REASON - 3] + "..."


def target_table(targets: Sequence[Target]) -> TextTable:
    """What errors may be, and what they are.

    Parameters
    ----------
    targets : sequence of Target
    """
    head = [
        "target", "errors", "undecided", "median", "may be", "95th", "of the decided", "may be", "verdict",
    ]  # fmt: skip
    rows = []
    for one in targets:
        beyond = "undecided" if one.n_undecided else "infinite"
        sizes = [
            _bounded(one.median, beyond), _bounded(one.median_bound), _bounded(one.most, beyond),
            _bounded(one.most_decided, "infinite"), _bounded(one.most_bound),
        ]  # fmt: skip
        rows.append([one.name, str(one.n), str(one.n_undecided), *sizes, one.verdict])
    title = "Targets, per cent; an undecided error is not within the 95th percentile"
    return TextTable(title=title, head=head, rows=rows, n_left=1)


def _bounded(value: float | None, beyond: str = "") -> str:
    if value is None:
        return "-"
    return f"{100 * value:.1f}" if math.isfinite(value) else beyond
