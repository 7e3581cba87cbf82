"""Measured passes: what each computed, on what, and how long it took."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.files import read_text, shown_name
from qtheory.system.hardware import find_hardware
from qtheory.system.models import find_model
from qtheory.system.steptime import StepLoad

__all__ = ["Pass", "by_group", "read_passes"]

_SHARED = ("model", "system", "backend", "tp", "dtype", "latency_ms")
_GRIDS = {
    "forward": ("phase", "batch", "new_tokens", "context"),
    "mixed": ("prefill_tokens", "decode_requests", "prompt_len", "decode_context"),
}
_LARGEST_BYTES = 64_000_000
_TOO_FAST = ("a100", "trtllm")  # decode attention of 1.5 times the peak bandwidth
_MUCH = 0.1  # share of a pass that reading keys and values takes at peak bandwidth


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One measured pass of an engine through a model, without time of the host.

    Parameters
    ----------
    card, model : str
        Presets.
    engine : str
        As the file names it, such as ``vllm``.
    tp : int
        Accelerators that share every layer.
    weights : str
        Format of the weights.
    kind : str
        ``decode``, ``prefill`` or ``mixed``.
    load : StepLoad
        What it computed.
    seconds : float
        How long it took.
    is_trusted : bool
        False for decodes of TensorRT-LLM on A100 that read much: in the tables they were composed from, their
        attention is faster than the memory.
    """

    card: str
    engine: str
    model: str
    tp: int
    weights: str
    kind: str
    load: StepLoad
    seconds: float
    is_trusted: bool = True


def read_passes(path: str | Path, *, text: str | None = None) -> list[Pass]:
    """The passes of a table with the columns of a forward-pass grid or a mixed-step grid.

    Parameters
    ----------
    path : str or Path
        A CSV file with the columns model, system, backend, tp, dtype and latency_ms, and either phase, batch,
        new_tokens and context, or prefill_tokens, decode_requests, prompt_len and decode_context; others are
        left alone.

    text : str, optional
        What stands in it, if that has been read already.

    Raises
    ------
    ConfigError
        If the file cannot be read, lacks a column or has no rows, or a cell is no number or unknown.

    Examples
    --------
    >>> read_passes("no/such/file.csv")
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: no/such/file.csv: cannot be read: no such file
    """
    wanted = "a CSV table of measured passes"
    name = shown_name(path)
    text = read_text(Path(path), most_bytes=_LARGEST_BYTES, wanted=wanted) if text is None else text
    reader = csv.DictReader(io.StringIO(text, newline=""))
    grid = _grid(reader.fieldnames or (), name)
    try:
        rows = [_checked(row, f"{name}: line {line}", grid) for line, row in enumerate(reader, start=2)]
    except csv.Error as error:
        raise ConfigError(f"{name}: not CSV ({error}); check the quotes") from None
    if not rows:
        raise ConfigError(f"{name}: no rows below the header")
    return rows


def _grid(columns: object, name: str) -> str:
    """Which of the two kinds of table has these columns."""
    given = [str(column) for column in columns] if isinstance(columns, list) else []
    missing = {grid: [c for c in (*_SHARED, *more) if c not in given] for grid, more in _GRIDS.items()}
    best = min(missing, key=lambda grid: len(missing[grid]))
    if missing[best]:
        near = checks.nearest(missing[best][0], [c for c in given if c]) if given else ""
        raise ConfigError(
            f"{name}: {', '.join(missing[best])}: missing{near}; a {best} grid has the columns "
            f"{', '.join((*_SHARED, *_GRIDS[best]))}"
        )
    return best


def _checked(row: dict[str, str], where: str, grid: str) -> Pass:
    for column in (*_SHARED, *_GRIDS[grid]):
        if row.get(column) is None:
            raise ConfigError(f"{where}: {column}: missing; the line ends before it")
    try:
        return _forward(row) if grid == "forward" else _mixed(row)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _number(row: dict[str, str], column: str, *, least: float = 0.0) -> float:
    try:
        value = float(row[column])
    except ValueError:
        raise ConfigError(f"{column}: {checks.shown(row[column])} is not a number") from None
    if not (math.isfinite(value) and value >= least):
        raise ConfigError(f"{column}: {row[column]} must be {'> 0' if least else '>= 0'}")
    return value


def _whole(row: dict[str, str], column: str, *, least: int = 0) -> int:
    value = _number(row, column, least=least)
    if value != int(value):
        raise ConfigError(f"{column}: {row[column]} is not a whole number")
    return int(value)


def _pass(row: dict[str, str], kind: str, load: StepLoad) -> Pass:
    card, model, tp = find_hardware(row["system"]), find_model(row["model"]), _whole(row, "tp", least=1)
    weights, engine = row["dtype"].strip().lower(), row["backend"].strip().lower()
    checks.one_of("dtype", weights, ("bf16", "fp16", "fp8", "int8"))
    seconds = _number(row, "latency_ms", least=1e-6) / 1e3
    read_bytes = load.decode_context_tokens * model.kv_bytes_per_token() / model.kv_shards(tp)
    reads_much = read_bytes / card.bandwidth_bytes_per_s > _MUCH * seconds
    return Pass(
        card=card.name,
        engine=engine,
        model=model.name,
        tp=tp,
        weights=weights,
        kind=kind,
        load=load,
        seconds=seconds,
        is_trusted=not (reads_much and (card.name, engine) == _TOO_FAST),
    )


def _forward(row: dict[str, str]) -> Pass:
    phase = row["phase"].strip()
    checks.one_of("phase", phase, ("prefill", "decode"))
    batch, tokens = _whole(row, "batch", least=1), _whole(row, "new_tokens", least=1)
    context = _whole(row, "context")
    if phase == "decode":
        load = StepLoad(n_decodes=batch, decode_context_tokens=batch * (context + 1), n_sampled=batch)
        return _pass(row, phase, load)
    load = StepLoad(
        prefill_tokens=tokens,
        prefill_work=tokens * context + tokens * (tokens + 1) / 2,
        prefill_context_tokens=context + tokens,
        n_sampled=batch,
    )
    return _pass(row, phase, load)


def _mixed(row: dict[str, str]) -> Pass:
    """A chunk of an average place in its prompt, or several whole prompts, beside decodes."""
    chunk, decodes = _whole(row, "prefill_tokens", least=1), _whole(row, "decode_requests")
    prompt, context = _whole(row, "prompt_len", least=1), _whole(row, "decode_context")
    load = StepLoad(
        n_decodes=decodes,
        decode_context_tokens=decodes * (context + 1),
        prefill_tokens=chunk,
        prefill_work=chunk * (prompt + 1) / 2,
        prefill_context_tokens=max(chunk, (prompt + chunk) // 2),
        n_sampled=decodes + math.ceil(chunk / prompt),
    )
    return _pass(row, "mixed", load)


def by_group(passes: list[Pass]) -> Iterator[tuple[tuple[str, str], list[Pass]]]:
    """Passes of each accelerator under each engine, in the order of their first row."""
    groups: dict[tuple[str, str], list[Pass]] = {}
    for measured in passes:
        groups.setdefault((measured.card, measured.engine), []).append(measured)
    yield from groups.items()
