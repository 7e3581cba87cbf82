"""What ``sched-sim validate agreement`` measured, as a small table of the notes.

``python -m papers.own_errors RESULT.json`` makes it from a result in JSON, one line a cell:
``sched-sim validate agreement --out RESULT.json --format json`` gives the one that is kept.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from qtheory.basics.errors import ConfigError

__all__ = ["METRICS", "TIERS", "errors_markdown", "kept_rows", "main", "rows_of"]

FILE = Path(__file__).with_suffix(".csv")
METRICS = {
    "mean_ttft_s": "mean TTFT",
    "p99_ttft_s": "p99 TTFT",
    "mean_tpot_s": "mean TPOT",
    "p99_tpot_s": "p99 TPOT",
}
TIERS = ("numeric", "closed")
_CELL = ("scheduler", "hardware", "model", "workload", "memory", "arrivals", "load_frac")


def main(words: Sequence[str] | None = None) -> int:
    """Write the table from a result; 2 for bad input."""
    given = sys.argv[1:] if words is None else list(words)
    try:
        if len(given) != 1:
            raise ConfigError("python -m papers.own_errors: needs one file, the JSON of an agreement")
        made = rows_of(json.loads(Path(given[0]).read_text(encoding="utf-8")))
        with FILE.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(made[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(made)
    except (ConfigError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def rows_of(result: Mapping[str, Any]) -> list[dict[str, str]]:
    """A line a cell: what it is, relative errors of both tiers, and what the simulation leaves open.

    Parameters
    ----------
    result : mapping
        As ``sched-sim validate agreement --format json`` writes it.

    Raises
    ------
    ConfigError
        If it is no such result.
    """
    cells = result.get("result") if isinstance(result, Mapping) else None
    if not isinstance(cells, list) or not cells or "verdicts" not in cells[0]:
        raise ConfigError("result: not that of sched-sim validate agreement")
    return [_row(cell) for cell in cells]


def _row(cell: Mapping[str, Any]) -> dict[str, str]:
    row = {name: str(cell["cell"][name]) for name in _CELL}
    simulated = cell["simulated"] or {}
    for metric in METRICS:
        value, half = simulated.get(metric), simulated.get(f"{metric}_half")
        row[f"{metric}_half"] = f"{half:.4f}" if value and half is not None else ""
        for tier in TIERS:
            error = cell["errors"].get(tier, {}).get(metric)
            row[f"{metric}_{tier}"] = "" if error is None else f"{error:.4f}"
    for tier in TIERS:
        row[f"{tier}_verdict"] = cell["verdicts"].get(tier, "refused")
    return row


def kept_rows() -> list[dict[str, str]]:
    """The lines that are kept."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def errors_markdown(rows: Iterable[Mapping[str, str]]) -> str:
    """Lines of a table in Markdown: errors of the numeric and the closed tier in per cent.

    Parameters
    ----------
    rows : iterable of mapping
        As `rows_of` makes them.
    """
    heads = ["cell", "load", *METRICS.values(), "numeric", "closed"]
    lines = [f"| {' | '.join(heads)} |", f"| --- | ---: |{' ---: |' * len(METRICS)} --- | --- |"]
    for row in rows:
        cell = ", ".join(row[name] for name in _CELL[:-1])
        shown = [_errors(row, metric) for metric in METRICS]
        verdicts = [row[f"{tier}_verdict"] for tier in TIERS]
        lines.append(f"| {' | '.join([cell, row['load_frac'], *shown, *verdicts])} |")
    return "\n".join(lines)


def _errors(row: Mapping[str, str], metric: str) -> str:
    both = [f"{100 * float(text):+.1f}" if (text := row[f"{metric}_{tier}"]) else "-" for tier in TIERS]
    half = row[f"{metric}_half"]
    return " / ".join(both) + (f" ({100 * float(half):.1f})" if half else "")


if __name__ == "__main__":
    sys.exit(main())
