"""Traces: JSON lines with a time in milliseconds, two lengths, and an id for every so many prompt tokens."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.files import read_text, shown_name
from qtheory.system.workload.block_hashes import BlockHashes
from qtheory.system.workload.request import Requests

from ._reading import at_least_one, number, only_keys, table, taken

__all__ = ["Trace", "read_trace"]

_KEYS = ("timestamp", "input_length", "output_length", "hash_ids")
_LARGEST_BYTES = 200_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Requests in order of arrival, the first at 0 s, and for each its line in the file, from 0."""

    requests: Requests
    lines: NDArray[np.int64]


def read_trace(path: Path, *, tokens_per_id: int) -> Trace:
    """The requests of a file; equal leading ids are equal leading tokens.

    Parameters
    ----------
    path : Path
    tokens_per_id : int
        Prompt tokens that one id stands for, >= 1; the last of a prompt may stand for fewer.

    Raises
    ------
    ConfigError
        Naming file, line and value.
    """
    content = read_text(path, most_bytes=_LARGEST_BYTES, wanted="a trace of JSON lines")
    rows: list[tuple[float, int, int, list[int]]] = []
    for line, text in enumerate(content.splitlines(), start=1):
        if not text.strip():
            continue
        where = f"{shown_name(path)}: line {line}"
        try:
            rows.append(_row(where, table(where, json.loads(text)), tokens_per_id))
        except (ValueError, RecursionError) as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(f"{where}: not valid JSON ({error})") from None
    arrival_s = np.array([row[0] for row in rows]) / 1000
    order = np.argsort(arrival_s, kind="stable")
    sorted_rows = [rows[i] for i in order]
    ids = [row[3] for row in sorted_rows]
    requests = Requests(
        arrival_s=arrival_s[order] - arrival_s.min(),
        prompt_tokens=np.array([row[1] for row in sorted_rows]),
        output_tokens=np.array([row[2] for row in sorted_rows]),
        block_hashes=BlockHashes(
            ids=np.array([number for row in ids for number in row], dtype=np.int64),
            offsets=np.cumsum([0, *map(len, ids)]),
            block_tokens=tokens_per_id,
        ),
    )
    return Trace(requests=requests, lines=order)


def _row(where: str, given: dict[str, Any], tokens_per_id: int) -> tuple[float, int, int, list[int]]:
    only_keys(where, given, _KEYS)
    at_ms = number(f"{where}: timestamp", taken(where, given, "timestamp"), least=0)
    prompt = at_least_one(f"{where}: input_length", taken(where, given, "input_length"))
    output = at_least_one(f"{where}: output_length", taken(where, given, "output_length"))
    ids = taken(where, given, "hash_ids")
    is_right = isinstance(ids, list) and all(type(one) is int and 0 <= one < 2**62 for one in ids)
    if not is_right:
        raise ConfigError(f"{where}: hash_ids: {checks.shown(ids)} is not a list of whole numbers >= 0")
    most = -(-prompt // tokens_per_id)
    if len(ids) > most:
        raise ConfigError(f"{where}: hash_ids: {len(ids)} ids for {prompt} tokens; at most {most}")
    return at_ms, prompt, output, ids
