"""Which tool wrote a file, and what it says."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from qtheory.basics.checks import nearest
from qtheory.basics.errors import ConfigError

from . import (
    aiperf,
    engine_requests,
    genai_perf,
    guidellm,
    inference_perf,
    llmperf,
    mlperf,
    multi_round_qa,
    prometheus,
    sglang,
    sweeps,
    vllm,
)
from .consistent import refuse_mixed_units
from .content import Content, read_content
from .point import BenchPoint, EngineRun

__all__ = ["FORMATS", "measured_of", "only", "read_measured"]


class _Format(NamedTuple):
    name: str
    fits: Callable[[Content], bool]
    points: Callable[[Content], list[BenchPoint]]


_READERS = (
    sglang,
    vllm,
    guidellm,
    inference_perf,
    llmperf,
    genai_perf,
    aiperf,
    mlperf,
    multi_round_qa,
    prometheus,
    sweeps,
)
_FORMATS = [_Format(reader.NAME, reader.fits, reader.points) for reader in _READERS]
_NO_END = "the last row has no end; if the file is cut off, its numbers are wrong"
FORMATS = (*(entry.name for entry in _FORMATS), engine_requests.NAME)
"""Names of the formats that are recognised."""


def read_measured(
    path: str | Path, *, where: Mapping[str, str] | None = None
) -> list[BenchPoint] | EngineRun:
    """Points of a benchmark result, or the requests of an engine run.

    Parameters
    ----------
    path : str or Path
        A file that one of the tools in `FORMATS` wrote; which one is told by its content. ``.gz`` too.
    where : mapping of str to str, optional
        Of a table, only the rows whose columns have these texts.

    Raises
    ------
    ConfigError
        If the file cannot be read, its format is not known, or it lacks something (by name).

    Examples
    --------
    >>> read_measured("no/such/file.json")
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: no/such/file.json: cannot be read: no such file
    """
    content = read_content(path)
    return measured_of(only(content, where) if where else content)


def measured_of(content: Content) -> list[BenchPoint] | EngineRun:
    """The same of a file that has been taken apart already.

    Parameters
    ----------
    content : Content
    """
    told = (_NO_END,) if content.columns and not content.text.endswith("\n") else ()
    if engine_requests.fits(content):
        run = engine_requests.run_of(content)
        return replace(run, notes=run.notes + told)
    for entry in _FORMATS:
        if entry.fits(content):
            points = entry.points(content)
            for point in points:
                refuse_mixed_units(point)
            return [*points[:-1], replace(points[-1], notes=points[-1].notes + told)]
    raise ConfigError(f"{content.name}: not a result of a known tool ({', '.join(FORMATS)}){_seen(content)}")


def _seen(content: Content) -> str:
    """What stands in the file instead."""
    if isinstance(content.data, Mapping):
        if not content.data:
            return "; there is no key in it"
        return f"; its keys are {', '.join(list(map(str, content.data))[:6])}"
    if content.columns:
        return f"; its columns are {', '.join(content.columns[:8])}"
    return ""


def only(content: Content, where: Mapping[str, str]) -> Content:
    """The table with the rows that have these texts in these columns.

    Parameters
    ----------
    content : Content
        A table.
    where : mapping of str to str
        Column to text; numbers are compared as such.
    """
    for column in where:
        if column not in content.columns:
            close = nearest(column, list(content.columns))
            raise ConfigError(
                f"{content.name}: {column}: no such column{close}; --where chooses rows of a table"
            )
    kept = [row for row in content.rows() if all(_same(row[name], text) for name, text in where.items())]
    if not kept:
        told = ", ".join(f"{column}={text}" for column, text in where.items())
        raise ConfigError(f"{content.name}: no row has {told}")
    out = io.StringIO()
    writer = csv.DictWriter(out, list(content.columns), extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(kept)
    return replace(content, text=out.getvalue())


def _same(cell: str | None, text: str) -> bool:
    given = (cell or "").strip()
    try:
        return given == text or float(given) == float(text)
    except ValueError:
        return False
