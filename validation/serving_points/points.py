"""Measured points of closed loops: what is read, and which rows can be judged."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from qtheory.basics.checks import nearest
from qtheory.basics.errors import ConfigError
from qtheory.basics.files import read_text
from qtheory.system.hardware import find_hardware
from qtheory.system.models import find_model

from .engines import ENGINES

__all__ = ["Point", "read_points"]

COLUMNS = (
    "model_path", "system", "backend", "precision", "tp_size", "isl", "osl", "concurrency",
    "silicon_ttft_ms", "silicon_tpot_ms",
)  # fmt: skip
_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One measured run: requests of one size, a fixed number in flight.

    Parameters
    ----------
    line : int
        In the file.
    engine, model, hardware : str
        Names; of the last two the presets where there are any.
    tp : int
        Accelerators of the replica.
    prompt_tokens, output_tokens, in_flight : int
        The load.
    ttft_s, tpot_s : float
        Measured means.
    skipped : str
        Why it is not judged; empty if it is.

    Examples
    --------
    >>> point = Point(line=2, engine="vllm", model="qwen3-32b", hardware="h100", tp=2, prompt_tokens=1024,
    ...     output_tokens=128, in_flight=8, ttft_s=0.154, tpot_s=0.018)
    >>> point.group
    'vllm qwen3-32b h100 tp 2'
    """

    line: int
    engine: str
    model: str
    hardware: str
    tp: int
    prompt_tokens: int
    output_tokens: int
    in_flight: int
    ttft_s: float
    tpot_s: float
    skipped: str = ""

    @property
    def group(self) -> str:
        """What its errors are averaged with."""
        return f"{self.engine} {self.model} {self.hardware} tp {self.tp}"


def read_points(path: str | Path) -> list[Point]:
    """Rows of a table of serving points.

    Parameters
    ----------
    path : str or Path
        CSV with at least the columns model_path, system, backend, precision, tp_size, isl, osl, concurrency,
        silicon_ttft_ms and silicon_tpot_ms; an empty precision is bf16.

    Raises
    ------
    ConfigError
        If the file cannot be read, lacks a column, or a cell is not what its column holds (names the line).

    Examples
    --------
    >>> read_points("no/such/points.csv")
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: no/such/points.csv: cannot be read: no such file
    """
    text = read_text(path, most_bytes=_MOST_BYTES, wanted="a table of serving points")
    rows = csv.DictReader(StringIO(text))
    found = list(rows.fieldnames or ())
    missing = [name for name in COLUMNS if name not in found]
    if len(missing) == len(COLUMNS):
        raise ConfigError(f"{path}: no table of serving points, whose columns are {', '.join(COLUMNS)}")
    if missing:
        named = ", ".join(f"{name}{nearest(name, found)}" for name in missing)
        raise ConfigError(f"{path}: no column {named}")
    points = [_point(row, f"{path}: line {rows.line_num}", rows.line_num) for row in rows]
    if not points:
        raise ConfigError(f"{path}: no rows below the header")
    return points


def _point(row: dict[str, str | None], where: str, line: int) -> Point:
    counts = {name: _count(row, name, where) for name in ("tp_size", "isl", "osl", "concurrency")}
    times = {name: _milliseconds(row, name, where) / 1e3 for name in ("silicon_ttft_ms", "silicon_tpot_ms")}
    engine, model, hardware = (row[name] or "" for name in ("backend", "model_path", "system"))
    skipped = "" if engine in ENGINES else f"engine {engine} has no setting"
    precision = row["precision"] or "bf16"
    if precision not in ("bf16", "bfloat16", "fp16", "float16"):
        skipped = skipped or f"precision {precision}: only 16 bits are judged"
    for name in ("pp_size", "attention_dp_size"):
        if row.get(name) not in (None, "", "1"):
            skipped = skipped or f"{name} {row[name]}: only 1 is modelled"
    if counts["osl"] < 2:
        skipped = skipped or "osl 1: no time per output token"
    try:
        model, hardware = find_model(model).name, find_hardware(hardware).name
    except ConfigError as error:
        skipped = skipped or str(error)
    return Point(
        line=line,
        engine=engine,
        model=model,
        hardware=hardware,
        tp=counts["tp_size"],
        prompt_tokens=counts["isl"],
        output_tokens=counts["osl"],
        in_flight=counts["concurrency"],
        ttft_s=times["silicon_ttft_ms"],
        tpot_s=times["silicon_tpot_ms"],
        skipped=skipped,
    )


def _count(row: dict[str, str | None], name: str, where: str) -> int:
    text = row[name] or ""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (value >= 1 and value == int(value)):
        raise ConfigError(f"{where}: {name} is {text!r}, not a whole number >= 1")
    return int(value)


def _milliseconds(row: dict[str, str | None], name: str, where: str) -> float:
    text = row[name] or ""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise ConfigError(f"{where}: {name} is {text!r}, not a number of milliseconds > 0")
    return value
