"""An answer, written as table, JSON or CSV to the terminal or to a file."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qtheory.basics.errors import ConfigError
from qtheory.system.results import SCHEMA

from .files import Writer, write_all

if TYPE_CHECKING:
    from .options import Output

__all__ = ["Answer", "as_csv", "as_json", "emit"]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a command found, before it is known in which form it will be shown.

    Parameters
    ----------
    rows : sequence of mappings
        The result, plain values under plain names.
    text : str
        The same for people.
    provenance : mapping
        Version, scenario and seed.
    more : mapping
        Further entries of the JSON form, such as a summary.
    lead : mapping
        Leading columns of the CSV form, the same in every row.
    """

    rows: Sequence[Mapping[str, Any]]
    text: str
    provenance: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    lead: Mapping[str, Any] = field(default_factory=dict)


def _plain(value: Any) -> Any:
    """Value as JSON can hold it: numbers that are not finite become null, numpy scalars plain ones."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def as_json(answer: Answer) -> str:
    """The answer as JSON text: ``schema``, ``provenance``, ``result`` (the rows) and what there is more.

    Examples
    --------
    >>> print(as_json(Answer(rows=[{"scheduler": "fcfs", "p99_tpot_s": float("nan")}], text="")))
    {
     "schema": "queueserve/1",
     "provenance": {},
     "result": [
      {
       "scheduler": "fcfs",
       "p99_tpot_s": null
      }
     ]
    }
    """
    data = {"schema": SCHEMA, "provenance": answer.provenance, "result": answer.rows, **answer.more}
    return json.dumps(_plain(data), indent=1, allow_nan=False, ensure_ascii=False)


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as CSV text: one header line of names, an empty cell where there is no value.

    Examples
    --------
    >>> print(as_csv([{"scheduler": "fcfs", "rate_rps": 2.0, "p99_tpot_s": None}]))
    scheduler,rate_rps,p99_tpot_s
    fcfs,2.0,
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        cells = [_plain(row.get(name)) for name in names]
        writer.writerow([json.dumps(cell) if isinstance(cell, dict | list) else cell for cell in cells])
    return text.getvalue().rstrip("\n")


def _shown(answer: Answer, form: str) -> str:
    forms: dict[str, Callable[[], str]] = {
        "json": lambda: as_json(answer),
        "csv": lambda: as_csv([{**answer.lead, **row} for row in answer.rows]),
        "table": lambda: answer.text,
        "toml": lambda: answer.text,
    }
    return forms[form]() + "\n"


def emit(answer: Answer, output: Output, files: Mapping[str, Writer] | None = None) -> None:
    """Write the answer to where the output flags say, after all other files of the command.

    Parameters
    ----------
    answer : Answer
    output : Output
    files : mapping, optional
        What writes the file behind a flag such as ``--plot``; used if the flag was given.

    Raises
    ------
    ConfigError
        If a file cannot be written; then none of them is left behind.
    """
    text = _shown(answer, output.format)

    def write(path: Path) -> None:
        path.write_text(text, encoding="utf-8")

    write_all(output.targets(), {"--out": write, **(files or {})}, force=output.force)
    if output.out is None:
        _print(text)


def _print(text: str) -> None:
    if sys.stdout is None:
        raise ConfigError("standard output: is closed; give --out FILE")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except UnicodeEncodeError as error:
        raise ConfigError(
            f"standard output: takes no {text[error.start]!r} (its encoding is {sys.stdout.encoding}); "
            "set PYTHONIOENCODING=utf-8, or give --out FILE"
        ) from None
