"""Simulated sides of the full design, kept in the package: hours of work that no new theory undoes."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from qtheory.basics.errors import ConfigError
from qtheory.basics.files import read_text, shown_name
from qtheory.system.provenance import version

from ._knee_simulated import METHOD, SimulatedKnee
from .capacity import Overload
from .effort import EFFORTS
from .grid import Cell, full
from .simulated import CONTROLLED, Simulated

__all__ = ["SIMULATIONS", "Simulations", "add_simulations", "line_of", "read_simulations"]

SIMULATIONS = Path(__file__).with_name("simulations.jsonl")
"""A line that says how they were made, then a line a cell."""

_SIMULATOR = 1  # raised when the simulator gives other numbers than before: all is simulated again then
_MOST_BYTES = 4_000_000
_DIGITS = 10
_TIMES = ("ttft", "tpot", "itl", "e2e")
_ESTIMATED = [f"{kind}_{time}_s" for time in _TIMES for kind in ("mean", "p50", "p90", "p95", "p99")]
_WITH_HALF = ("goodput_frac", *_ESTIMATED, *CONTROLLED.values())
_NUMBERS = (
    "rate_rps", "n_requests", "n_preemptions", "shed_frac", "throughput_rps", "mean_running", "mean_kv_frac",
    *(name for each in _WITH_HALF for name in (each, f"{each}_half")),
)  # fmt: skip
_COLUMNS = (
    "cell", "design", "version", "kind", "requests", "overload_rps", "overload_error_rps", "limit_rps",
    "limit_error_rps", "knee_rps", "knee_half_frac", "knee_requests", "knee_method", *_NUMBERS,
)  # fmt: skip
_AGAIN = "remove the file and simulate its cells again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulations:
    """What is kept.

    Parameters
    ----------
    cells : dict
        Simulated sides by the number of their cell in the full design.
    versions : dict
        By the same number: version of the package that simulated it.
    """

    cells: dict[int, Simulated] = field(default_factory=dict)
    versions: dict[int, str] = field(default_factory=dict)


def read_simulations(path: Path = SIMULATIONS) -> Simulations:
    """All that is kept; nothing if there is no file.

    Parameters
    ----------
    path : Path

    Raises
    ------
    ConfigError
        If it is of another simulator, design or effort, or is no such file.

    Examples
    --------
    >>> kept = read_simulations()
    >>> kept.cells.keys() == kept.versions.keys()
    True
    """
    if not path.exists():
        return Simulations()
    name = shown_name(path)
    head, *lines = read_text(path, most_bytes=_MOST_BYTES, wanted="kept simulations").splitlines()
    if head != _head():
        raise ConfigError(
            f"{name}: line 1: kept by another simulator, with another effort or in other columns; {_AGAIN}"
        )
    design, kept = {cell.number: cell for cell in full()}, Simulations()
    for place, line in enumerate(lines, 2):
        try:
            row = dict(zip(_COLUMNS, json.loads(line), strict=True))
            number = row["cell"]
            found = _simulated(design[number], row)
        except (ValueError, TypeError, KeyError):
            raise ConfigError(f"{name}: line {place}: is not a simulated cell; {_AGAIN}") from None
        if row["design"] != _mark(found.cell):
            raise ConfigError(f"{name}: line {place}: cell {number} is not that of the design now; {_AGAIN}")
        if found.knee is not None and found.knee.method not in range(1, METHOD + 1):
            raise ConfigError(f"{name}: line {place}: the knee is by another method; {_AGAIN}")
        if number in kept.cells:
            raise ConfigError(f"{name}: line {place}: cell {number} is there twice; {_AGAIN}")
        kept.cells[number], kept.versions[number] = found, row["version"]
    return kept


def add_simulations(found: Iterable[Simulated], path: Path = SIMULATIONS) -> None:
    """Put cells of the full design among those that are kept, in place of older ones.

    Parameters
    ----------
    found : iterable of Simulated
        Made with the effort of the full design.
    path : Path

    Raises
    ------
    ConfigError
        If the file cannot be read or written.
    """
    before = read_simulations(path)
    lines = {number: line_of(one, before.versions[number]) for number, one in before.cells.items()}
    lines |= {one.cell.number: line_of(one, version()) for one in found}
    beside = path.with_name(f"{path.name}.new")
    try:
        beside.write_text("\n".join([_head(), *(lines[number] for number in sorted(lines)), ""]))
        os.replace(beside, path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror})") from None


def line_of(found: Simulated, by_version: str) -> str:
    """A cell as it is kept.

    Parameters
    ----------
    found : Simulated
    by_version : str
        Of the package that simulated it.
    """
    load, knee = found.overload, found.knee
    row: dict[str, Any] = {
        "cell": found.cell.number,
        "design": _mark(found.cell),
        "version": by_version,
        "kind": found.kind,
        "requests": found.n_requests,
        **{name: found.numbers.get(name) for name in _NUMBERS},
    }
    if load is not None:
        row |= {"overload_rps": load.rate_rps, "overload_error_rps": load.error_rps}
        row |= {"limit_rps": load.limit_rps, "limit_error_rps": load.limit_error_rps}
    if knee is not None:
        row |= {"knee_rps": knee.rate_rps, "knee_half_frac": knee.half_frac}
        row |= {"knee_requests": knee.n_requests, "knee_method": knee.method}
    short = [_short(row.get(name)) for name in _COLUMNS]
    return json.dumps(short, separators=(",", ":"), allow_nan=False)


def _short(value: Any) -> Any:
    """Ten digits: what machines differ in is left out; None for infinity."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None


def _head() -> str:
    made = {"simulator": _SIMULATOR, "grid": "full", "effort": asdict(EFFORTS["full"]), "columns": _COLUMNS}
    return json.dumps(made)


def _mark(cell: Cell) -> str:
    """Changes with the cell, and with what its levels mean in a scenario."""
    said = [asdict(cell), cell.scenario().changed()]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:8]


def _simulated(cell: Cell, row: dict[str, Any]) -> Simulated:
    overload = knee = None
    if row["overload_rps"] is not None:
        overload = Overload(
            rate_rps=float(row["overload_rps"]),
            error_rps=float(row["overload_error_rps"]),
            limit_rps=float(row["limit_rps"]),
            limit_error_rps=float(row["limit_error_rps"]),
        )
    if row["knee_requests"] is not None:
        half = row["knee_half_frac"]
        knee = SimulatedKnee(
            rate_rps=row["knee_rps"],
            half_frac=math.inf if half is None else float(half),
            n_requests=int(row["knee_requests"]),
            method=row["knee_method"],
        )
    return Simulated(
        cell=cell,
        overload=overload,
        kind=row["kind"],
        n_requests=row["requests"],
        numbers={name: float(row[name]) for name in _NUMBERS if row[name] is not None},
        knee=knee,
    )
