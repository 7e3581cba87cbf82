"""Tables of published measurements: rows with the columns that are needed, and their numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from validation.readers.content import read_content

__all__ = ["number", "table"]


def table(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """Rows of a table, gzipped or not, that has these columns."""
    content = read_content(path)
    for column in columns:
        if column not in content.columns:
            near = checks.nearest(column, content.columns)
            raise ConfigError(f"{content.name}: no column {checks.shown(column)}{near}")
    return content.rows()


def number(row: dict[str, str], column: str, where: str) -> float:
    """A finite number."""
    try:
        value = float(row[column])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(f"{where}: {column}: {checks.shown(row[column])} is not a number")
    return value
