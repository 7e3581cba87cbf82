"""A trace as a file."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any

from .trace import Trace

__all__ = ["write_trace"]


def write_trace(trace: Trace, path: Path | str, *, about: Mapping[str, Any] | None = None) -> None:
    """Write a trace that ui.perfetto.dev and chrome://tracing open; the same trace gives the same bytes.

    Parameters
    ----------
    trace : Trace
    path : path
        JSON; compressed if its name ends in ``.gz``.
    about : mapping, optional
        What the trace is of, plain data.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_trace(Trace(events=[], end_s=1.0), Path(folder) / "a.json")
    ...     print((Path(folder) / "a.json").read_text(), end="")
    {"displayTimeUnit": "ms", "otherData": {}, "traceEvents": [
    ]}
    """
    path = Path(path)
    with path.open("wb") as file:
        if path.suffix != ".gz":
            _write(trace, file, about or {})
            return
        with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as packed:
            _write(trace, packed, about or {})


def _write(trace: Trace, file: Any, about: Mapping[str, Any]) -> None:
    binary: IO[bytes] = file
    text = TextIOWrapper(binary, encoding="utf-8", newline="\n")
    said = json.dumps(dict(about), allow_nan=False, default=str)
    text.write(f'{{"displayTimeUnit": "ms", "otherData": {said}, "traceEvents": [\n')
    last = len(trace.events) - 1
    for index, event in enumerate(trace.events):
        text.write(
            json.dumps(event, allow_nan=False, separators=(",", ":")) + (",\n" if index < last else "\n")
        )
    text.write("]}\n")
    text.flush()
    text.detach()
