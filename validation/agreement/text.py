"""The comparison as text: cells, groups, targets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ._theory import ANSWERERS
from .groups import Group, Target, groups_of, targets_of
from .score import Score

__all__ = ["agreement_text", "summary_of"]

_SHORT = {"mean_ttft_s": "TTFT", "p99_ttft_s": "p99", "mean_tpot_s": "TPOT", "p99_tpot_s": "p99"}
_COLUMNS = ("mean_ttft_s", "p99_ttft_s", "mean_tpot_s", "p99_tpot_s")
_HEAD = (
    "Errors in per cent, predicted less simulated; * is blurred: the simulation is not known to a third of "
    "the tolerance"
)
_MOST_REASON = 88


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
    parts = [_cells(scores), _groups(groups_of(scores)), _refusals(scores), _targets(targets_of(scores))]
    counts = summary_of(scores)
    n = counts.pop("n_cells")
    parts.append(f"{n} cells: " + ", ".join(f"{k} {word}" for word, k in sorted(counts.items())))
    return "\n\n".join(part for part in parts if part)


def _aligned(rows: Sequence[Sequence[str]], n_left: int) -> str:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            text.ljust(width) if k < n_left else text.rjust(width)
            for k, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _percent(error: float | None, digits: int = 1) -> str:
    if error is None:
        return "-"
    return f"{100 * error:+.{digits}f}" if math.isfinite(error) else "none"


def _cells(scores: Sequence[Score]) -> str:
    names = [_SHORT[name] for name in _COLUMNS]
    rows = [
        [
            "cell", "scheduler", "accelerator", "model", "workload", "KV", "arrivals", "load",
            *names, "good", "limit", "knee", *(f"closed {name}" for name in names[:1]), "verdict",
        ]
    ]  # fmt: skip
    for one in scores:
        cell, errors = one.cell, one.errors.get("numeric", {})
        marks = [
            _percent(errors.get(name)) + ("*" if one.judged("numeric", name) == "undecided" else "")
            for name in _COLUMNS
        ]
        limit = one.predicted.get("numeric", {}).get("limit_rps")
        rate = one.overload.rate_rps if one.overload is not None else math.nan
        rows.append(
            [
                str(cell.number), cell.scheduler, cell.hardware, cell.model, cell.workload, cell.memory,
                "poisson" if cell.arrivals == "poisson" else "bursty", f"{cell.load_frac:g}", *marks,
                _percent(errors.get("goodput_frac")),
                _percent(None if limit is None else limit / rate - 1),
                _percent(one.knee.error("numeric") if one.knee else None),
                _percent(one.errors.get("closed", {}).get("mean_ttft_s")), one.verdict("numeric"),
            ]
        )  # fmt: skip
    return f"{_HEAD}\n{_aligned(rows, 7)}"


def _groups(groups: Sequence[Group]) -> str:
    """Medians of absolute errors, of both tiers and the baselines."""
    metrics = " / ".join(_SHORT[name] for name in _COLUMNS)
    rows = [["scheduler", "load", "KV", "arrivals", "cells", "within", *ANSWERERS]]
    for group in groups:
        medians = [
            " / ".join(_size(group.medians[name].get(metric)) for metric in _COLUMNS) for name in ANSWERERS
        ]
        rows.append(
            [group.scheduler, group.band, group.memory, group.arrivals, str(group.n_cells),
             str(group.verdicts.get("within", 0)), *medians]
        )  # fmt: skip
    return f"Medians of absolute errors in per cent: {metrics}\n{_aligned(rows, 4)}"


def _size(error: float | None) -> str:
    return "-" if error is None else f"{100 * error:.1f}" if error < 10 else ">1000"


def _refusals(scores: Sequence[Score]) -> str:
    lines = [
        f"cell {one.cell.number} ({one.cell.scheduler}): {_cut(one.refused.get('numeric', one.kind))}"
        for one in scores
        if one.verdict("numeric") in ("refused", "not simulated")
    ]
    return "\n".join(["Refused by the numeric tier", *lines]) if lines else ""


def _cut(reason: str) -> str:
    return reason if len(reason) <= _MOST_REASON else reason[: _MOST_REASON - 3] + "..."


def _targets(targets: Sequence[Target]) -> str:
    rows = [["target", "errors", "undecided", "median", "may be", "95th", "may be", "verdict"]]
    for one in targets:
        rows.append(
            [one.name, str(one.n), str(one.n_undecided), _bounded(one.median), _bounded(one.median_bound),
             _bounded(one.most), _bounded(one.most_bound), one.verdict]
        )  # fmt: skip
    return "Targets, per cent; an undecided error is not within the 95th percentile\n" + _aligned(rows, 1)


def _bounded(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.1f}" if math.isfinite(value) else "undecided"
