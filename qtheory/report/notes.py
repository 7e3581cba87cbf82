"""What has to be said below a table: where there is no steady state, and which limits hold less."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from qtheory.basics.units import percent

__all__ = ["notes", "warnings_of"]

Row = Mapping[str, Any]


def notes(rows: Sequence[Row]) -> list[str]:
    """Lines about points without a steady state, precision that was not reached, and unreliable limits.

    Parameters
    ----------
    rows : sequence of mappings
        As `RunResult.row` gives them.

    Examples
    --------
    >>> rows = [{"scheduler": "fcfs", "rate_rps": rate, "kind": "overloaded: ..."} for rate in (10.0, 14.0)]
    >>> print(*notes(rows))
    Overloaded, no steady state (numbers of finite runs, which grow with their length): fcfs at 10, 14 req/s
    """
    said = [*_overloaded(rows), *_undecided(rows), *_precision(rows)]
    levels = [row["level"] for row in rows if row.get("unreliable")]
    if levels:
        said.append(
            f"~ limits that hold the truth less often than {percent(levels[0])}: "
            "too few independent requests at this load; longer runs are needed"
        )
    return said


def warnings_of(rows: Sequence[Row]) -> list[str]:
    """Those of the notes that must not be missed by who reads only numbers.

    Parameters
    ----------
    rows : sequence of mappings
        As `RunResult.row` gives them.

    Examples
    --------
    >>> warnings_of([{"scheduler": "fcfs", "rate_rps": 2.0, "kind": "steady state"}])
    []
    """
    return [*_overloaded(rows), *_precision(rows)]


def _where(rows: Sequence[Row]) -> str:
    """Schedulers with their rates, as in ``fcfs at 2, 4 req/s, slo at 4 req/s``."""
    rates: dict[str, list[str]] = {}
    for row in rows:
        rates.setdefault(str(row["scheduler"]), []).append(f"{row['rate_rps']:g}")
    return ", ".join(
        name if any(math.isinf(float(rate)) for rate in known) else f"{name} at {', '.join(known)} req/s"
        for name, known in rates.items()
    )


def _kind(rows: Sequence[Row], word: str) -> list[Row]:
    return [row for row in rows if str(row.get("kind", "")).startswith(word)]


def _overloaded(rows: Sequence[Row]) -> list[str]:
    found = _kind(rows, "overloaded")
    why = "Overloaded, no steady state (numbers of finite runs, which grow with their length)"
    return [f"{why}: {_where(found)}"] if found else []


def _undecided(rows: Sequence[Row]) -> list[str]:
    reasons: dict[str, list[Row]] = {}
    for row in _kind(rows, "undecided"):
        reasons.setdefault(row["kind"].partition(": ")[2], []).append(row)
    return [f"Steady state undecided, {reason}: {_where(found)}" for reason, found in reasons.items()]


def _precision(rows: Sequence[Row]) -> list[str]:
    missed = [row for row in rows if row.get("precision_reached") is False]
    took = [f"{row['n_replications']} replications ({row['n_requests']:,} requests)" for row in missed]
    said = [f"{_where([row])} after {text}" for row, text in zip(missed, took, strict=True)]
    return [f"Precision not reached: {'; '.join(said)}"] if said else []
