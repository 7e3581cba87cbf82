"""The published answers: rows of a CSV file, picked by the cells that a case names."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.files import read_text, shown_name

__all__ = ["Row", "cell", "picked", "read_rows"]

Row = Mapping[str, str]
_LARGEST_BYTES = 50_000_000


def read_rows(path: Path) -> list[Row]:
    """All rows of a file, each as long as its header.

    Raises
    ------
    ConfigError
        If the file cannot be read, or a line is longer or shorter than the header (names it).
    """
    content = read_text(path, most_bytes=_LARGEST_BYTES, wanted="a CSV table of answers")
    name = shown_name(path)
    try:
        lines = list(csv.reader(io.StringIO(content, newline=""), strict=True))
    except csv.Error as error:
        raise ConfigError(f"{name}: not CSV ({error}); check the quotes") from None
    header = lines[0]
    if len(set(header)) < len(header):
        raise ConfigError(f"{name}: a column comes twice in the header")
    rows: list[Row] = []
    for number, cells in enumerate(lines[1:], start=2):
        if not cells:
            continue
        if len(cells) != len(header):
            raise ConfigError(f"{name}: line {number}: {len(cells)} cells; the header has {len(header)}")
        rows.append(dict(zip(header, cells, strict=True)))
    if not rows:
        raise ConfigError(f"{name}: has no row below its header")
    return rows


def picked(where: str, path: Path, rows: Sequence[Row], match: Mapping[str, Any]) -> list[Row]:
    """The rows whose cells are those of ``match``, as text or as numbers.

    Raises
    ------
    ConfigError
        If a column is missing or no row matches.
    """
    for column in match:
        if column not in rows[0]:
            raise ConfigError(
                f"{where}: {shown_name(path)} has no column {checks.shown(column)}"
                f"{checks.nearest(column, rows[0])}"
            )
    found = [row for row in rows if all(_same(row[key], value) for key, value in match.items())]
    if not found:
        words = ", ".join(f"{key} {checks.shown(value)}" for key, value in match.items())
        raise ConfigError(f"{where}: {shown_name(path)} has no row with {words}")
    return found


def cell(where: str, row: Row, column: str) -> float | None:
    """The number in a cell, None if it is empty.

    Raises
    ------
    ConfigError
        If it is not a finite number.
    """
    text = row[column].strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(f"{where}: {column}: {checks.shown(text)} is not a number")
    return value


def _same(text: str, value: Any) -> bool:
    if isinstance(value, str):
        return text == value
    try:
        return float(text) == float(value)
    except (TypeError, ValueError):
        return False
