"""One line a request, of all replications of an answer, as CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from validation.answer import Run

__all__ = ["write_records"]


def write_records(runs: Sequence[Run], path: Path) -> None:
    """Write the records of all requests, point by point and replication by replication.

    Parameters
    ----------
    runs : sequence of Run
    path : Path
        CSV file to write. Times are in seconds; a moment that never came is an empty cell.
    """
    from sim.summary import columns  # needs numpy, so only here

    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        begun = False
        for run in runs:
            point = (run.result.scheduler, run.result.rate_rps, run.result.speed)
            for index, records in enumerate(run.records):
                table = columns(records, run.workload.slo)
                if not begun:
                    writer.writerow(["scheduler", "rate_rps", "speed", "replication", *table])
                    begun = True
                rows = zip(*(column.tolist() for column in table.values()), strict=True)
                writer.writerows([*point, index, *map(_cell, row)] for row in rows)


def _cell(value: Any) -> Any:
    return "" if isinstance(value, float) and not math.isfinite(value) else value
