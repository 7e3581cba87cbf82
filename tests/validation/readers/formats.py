"""One small file of each format, ways to damage it, and what reading it comes to."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from qtheory.basics.errors import ConfigError
from validation.readers import BenchPoint, EngineRun, read_measured

FOLDER = Path(__file__).resolve().parents[2] / "data" / "benchmarks"
FILES = sorted(path.name for path in FOLDER.iterdir() if path.name != "README.md")
JSON = [name for name in FILES if name.endswith((".json", ".jsonl"))]
TABLES = ["engine_requests.csv", "multi_round_qa.csv", "sweep.csv"]
ONE_OBJECT = [name for name in JSON if name.endswith(".json")]
Outcome = list[BenchPoint] | EngineRun | str


def text_of(name: str) -> str:
    """The whole file."""
    return (FOLDER / name).read_text(encoding="utf-8")


def outcome(path: Path, text: str) -> Outcome:
    """What comes of reading this text: points, a run, or the line that says why not."""
    path.write_text(text, encoding="utf-8")
    try:
        return read_measured(path)
    except ConfigError as error:
        told = str(error)
    assert "\n" not in told
    assert str(path) in told
    return told.replace(str(path), "FILE")


def numbers(point: BenchPoint) -> dict[str, Any]:
    """What the point says, but for percentiles, notes and its place."""
    plain = ("rate_rps", "in_flight", "arrival_cv", "n_completed", "n_failed", "throughput_rps", "duration_s")
    said = {name: getattr(point, name) for name in (*plain, "prompt_tokens", "output_tokens")}
    times = {name: getattr(point, name).get("mean") for name in ("ttft_s", "tpot_s", "itl_s", "e2e_s")}
    return {name: repr(value) for name, value in (said | times).items()}


def paths(data: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Places of all values of a JSON text, outer ones first."""
    for key in data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ():
        yield (*here, key)
        yield from paths(data[key], (*here, key))


def edited(text: str, change: Callable[[Any], Any]) -> str:
    """The JSON text (or lines of it) after a change of its data."""
    try:
        return json.dumps(change(json.loads(text)))
    except ValueError:
        data = change([json.loads(line) for line in text.splitlines()])
        return "\n".join(json.dumps(line) for line in data) + "\n"


def at(data: Any, path: tuple[Any, ...]) -> Any:
    """The value at a place."""
    for key in path:
        data = data[key]
    return data


def scaled_json(text: str, word: str, factor: float) -> str:
    """All numbers whose place holds ``word``, times a factor."""

    def change(data: Any) -> Any:
        for path in list(paths(data)):
            is_meant = any(word in str(key) for key in path)
            value = at(data, path)
            if is_meant and isinstance(value, int | float) and not isinstance(value, bool):
                at(data, path[:-1])[path[-1]] = value * factor
        return data

    return edited(text, change)


def scaled_table(text: str, word: str, factor: float) -> str:
    """All cells of the columns whose name holds ``word``, times a factor."""
    rows = list(csv.reader(io.StringIO(text)))
    meant = [i for i, name in enumerate(rows[0]) if word in name]
    for row in rows[1:]:
        for i in meant:
            row[i] = str(float(row[i]) * factor) if row[i] else ""
    return "\n".join(map(",".join, rows)) + "\n"


def scaled_lines(text: str, word: str, factor: float) -> str:
    """The last number of every line that holds ``word``, times a factor."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        head, space, last = line.rpartition(" ")
        if word in line and not line.startswith("#"):
            lines[i] = f"{head}{space}{float(last) * factor}"
    return "\n".join(lines) + "\n"
