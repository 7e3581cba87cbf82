"""Requests and lengths from a file of any known format."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError
from qtheory.system.workload.request import Requests

from ._table import Block, FaultError, Table, open_table
from .format import Place
from .registry import recognise

__all__ = ["read_lengths", "read_requests"]

Array = NDArray[np.int64] | NDArray[np.float64]
_LENGTHS = ("prompt_tokens", "output_tokens")


def read_requests(path: str | os.PathLike[str]) -> Requests:
    """Requests of a trace; the first comes at 0 s.

    The format is told from the column names (`reader_names`); gzip, a byte order mark and any line ends are
    taken as they come. Columns that are not known are not read.

    Parameters
    ----------
    path : path
        A file with one request a row, in order of arrival; 1 .. 10 million tokens a prompt and an output.

    Raises
    ------
    ConfigError
        Naming file, line, column and value, and what is allowed, of a fault.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "trace.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("timestamp_ms,input_tokens,output_tokens\\n500,100,5\\n2000,20,1\\n")
    ...     requests = read_requests(path)
    >>> requests.arrival_s.tolist(), requests.prompt_tokens.tolist()
    ([0.0, 1.5], [100, 20])
    """
    with open_table(os.fspath(path)) as table:
        places = recognise(table, ("arrival_s", *_LENGTHS))
        return Requests(**_columns(table, places))  # type: ignore[arg-type]


def read_lengths(path: str | os.PathLike[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Prompt and output tokens of a length file or of a trace, each of shape (n,).

    Parameters
    ----------
    path : path
        A file with one request a row; times and other columns are not read.

    Raises
    ------
    ConfigError
        Naming file, line, column and value, and what is allowed, of a fault.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "lengths.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("input_tokens,output_tokens\\n100,5\\n20,1\\n")
    ...     prompt_tokens, output_tokens = read_lengths(path)
    >>> prompt_tokens.tolist(), output_tokens.tolist()
    ([100, 20], [5, 1])
    """
    with open_table(os.fspath(path)) as table:
        places = recognise(table, _LENGTHS)
        columns = _columns(table, {field: places[field] for field in _LENGTHS})
    return columns["prompt_tokens"].astype(np.int64), columns["output_tokens"].astype(np.int64)


def _columns(table: Table, places: Mapping[str, Place]) -> dict[str, Array]:
    parts: dict[str, list[Array]] = {field: [] for field in places}
    for block in table.blocks():
        for field, place in places.items():
            parts[field].append(_taken(block, place))
        _check_limit(block, places, {field: arrays[-1] for field, arrays in parts.items()})
    columns = {}
    for field, place in places.items():
        try:
            columns[field] = place.quantity.finish(_joined(parts[field]))
        except FaultError as fault:
            raise ConfigError(f"{table.path}: {place.column}: {fault.why}") from None
    return columns


def _taken(block: Block, place: Place) -> Array:
    texts = block.columns[place.index]
    try:
        return place.quantity.take(texts)
    except FaultError as fault:
        raise block.error(fault.row, place.column, texts[fault.row], fault.why) from None


def _check_limit(block: Block, places: Mapping[str, Place], taken: Mapping[str, Array]) -> None:
    """Refuse an output longer than the most that its request allows."""
    if "max_output_tokens" not in taken:
        return
    short = taken["max_output_tokens"] < taken["output_tokens"]
    if short.any():
        row = int(np.argmax(short))
        place = places["max_output_tokens"]
        value = block.columns[place.index][row]
        why = f"is below the {taken['output_tokens'][row]} output tokens of the row; give at least as many"
        raise block.error(row, place.column, value, why)


def _joined(arrays: Sequence[NDArray[Any]]) -> Array:
    return np.concatenate(arrays)
