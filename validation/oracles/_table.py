"""A table of known values: its rows, or one line that says where it cannot be read."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.files import read_text, shown_name

from ._vocabulary import require_quantity

__all__ = ["COLUMNS", "Row", "rows_of"]

COLUMNS = ("id", "model", "parameters", "quantity", "value", "rtol")
_MOST_BYTES = 200_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One known value: a model, its parameters, a quantity, its value and how near one must come."""

    id: str
    model: str
    parameters: dict[str, Any]
    quantity: str
    value: float
    rtol: float


def rows_of(path: Path) -> list[Row]:
    """All rows of a CSV file, or the first reason why they cannot be read."""
    name = shown_name(path)
    text = read_text(path, most_bytes=_MOST_BYTES, wanted="a CSV file of known values")
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        header = reader.fieldnames or []
        for column in COLUMNS:
            if column not in header:
                raise ConfigError(f"{name}: column {column!r} is missing{checks.nearest(column, header)}")
        rows = list(_rows(name, reader))
    except csv.Error as error:
        raise ConfigError(f"{name}: line {reader.line_num}: is not CSV ({error})") from None
    if not rows:
        raise ConfigError(f"{name}: has no row below the header")
    return rows


def _rows(name: str, reader: csv.DictReader[str]) -> Iterator[Row]:
    for record in reader:
        yield _row(f"{name}: line {reader.line_num}", record)


def _row(where: str, record: dict[str, Any]) -> Row:
    if any(cell is None for cell in record.values()):
        raise ConfigError(f"{where}: has fewer columns than the header")
    if None in record:
        raise ConfigError(f"{where}: has more columns than the header (a JSON cell needs quotes around it)")
    require_quantity(where, record["quantity"])
    value, rtol = (_number(where, column, record[column]) for column in ("value", "rtol"))
    if rtol < 0:
        raise ConfigError(f"{where}: rtol: {rtol:g} must be >= 0")
    return Row(
        id=record["id"],
        model=record["model"],
        parameters=_parameters(where, record["parameters"]),
        quantity=record["quantity"],
        value=value,
        rtol=rtol,
    )


def _number(where: str, column: str, cell: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        raise ConfigError(f"{where}: {column}: {checks.shown(cell)} is not a number") from None
    if not math.isfinite(number):
        raise ConfigError(f"{where}: {column}: {checks.shown(cell)} must be finite")
    return number


def _parameters(where: str, cell: str) -> dict[str, Any]:
    def refuse(word: str) -> float:
        raise ConfigError(f"{where}: parameters: {word} is not a number of JSON")

    try:
        parameters = json.loads(cell, parse_constant=refuse)
    except ConfigError:
        raise
    except (ValueError, RecursionError):
        raise ConfigError(f"{where}: parameters: {checks.shown(cell)} is not JSON") from None
    if not isinstance(parameters, dict):
        raise ConfigError(f"{where}: parameters: {checks.shown(cell)} must be a JSON object")
    return parameters
