"""Requests and lengths from a file of any known format."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.workload.block_hashes import BlockHashes
from qtheory.system.workload.request import Requests

from ._block_ids import MOONCAKE_BLOCK_TOKENS
from ._open import open_rows
from ._table import Block, FaultError, Rows
from .format import Place
from .registry import recognise
from .ticks import spread_ticks

__all__ = ["TICKS", "read_lengths", "read_requests"]

Array = NDArray[np.int64] | NDArray[np.float64]
_LENGTHS = ("prompt_tokens", "output_tokens")

TICKS = ("recorded", "even", "random")
"""What may be done with requests that were recorded at one time."""


def read_requests(path: str | os.PathLike[str], *, ticks: str = "recorded", seed: int = 0) -> Requests:
    """Requests of a trace; the first comes at 0 s.

    The format is told from the names of the columns or keys (`reader_names`); gzip, a byte order mark and any
    line ends are taken as they come. Columns that are not known are not read.

    Parameters
    ----------
    path : path
        A file with one request a row, in order of arrival; 1 .. 10 million tokens a prompt and an output.
    ticks : str
        ``recorded`` (default) leaves times as they are; ``even`` and ``random`` spread requests that were
        recorded at one time up to the next time (`spread_ticks`), as Mooncake traces need.
    seed : int
        Of the random spread, >= 0.

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
    checks.one_of("ticks", ticks, TICKS)
    checks.at_least(0, seed=seed)
    with open_rows(os.fspath(path)) as table:
        places = recognise(table, ("arrival_s", *_LENGTHS))
        requests = Requests(**_columns(table, places))  # type: ignore[arg-type]
    if ticks == "recorded":
        return requests
    try:
        rng = np.random.default_rng(seed) if ticks == "random" else None
        return replace(requests, arrival_s=spread_ticks(requests.arrival_s, rng))
    except ConfigError as error:
        raise ConfigError(f"{os.fspath(path)}: {error}") from None


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
    with open_rows(os.fspath(path)) as table:
        places = recognise(table, _LENGTHS)
        columns = _columns(table, {field: places[field] for field in _LENGTHS})
    prompts, outputs = (np.asarray(columns[field], dtype=np.int64) for field in _LENGTHS)
    return prompts, outputs


def _columns(table: Rows, places: Mapping[str, Place]) -> dict[str, Array | BlockHashes]:
    parts: dict[str, list[Array]] = {field: [] for field in places}
    for block in table.blocks():
        for field, place in places.items():
            parts[field].append(_taken(block, place))
        taken = {field: arrays[-1] for field, arrays in parts.items()}
        _check_limit(block, places, taken)
        _check_blocks(block, places, taken)
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
    why = "is below the {} output tokens of the row; give at least as many"
    _refuse(block, places["max_output_tokens"], short, taken["output_tokens"], why)


def _check_blocks(block: Block, places: Mapping[str, Place], taken: Mapping[str, Array]) -> None:
    """Refuse more block ids than the prompt has blocks: then they are smaller than they should be."""
    if "block_hashes" not in taken:
        return
    most = -(-taken["prompt_tokens"] // MOONCAKE_BLOCK_TOKENS)
    why = f"has more ids than the {{}} blocks of {MOONCAKE_BLOCK_TOKENS} tokens of the prompt; leave them out"
    _refuse(block, places["block_hashes"], taken["block_hashes"] > most, most, why)


def _refuse(block: Block, place: Place, bad: NDArray[np.bool_], limit: Array, why: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise block.error(row, place.column, block.columns[place.index][row], why.format(limit[row]))


def _joined(arrays: Sequence[NDArray[Any]]) -> Array:
    return np.concatenate(arrays)
