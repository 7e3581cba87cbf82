"""Rows of the MLPerf Inference results: read, without repetitions, and what each can be compared with."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from qtheory.basics.errors import ConfigError
from qtheory.basics.files import read_text
from qtheory.system.hardware import find_hardware

__all__ = ["Row", "read_rows"]

MODELS = {
    "llama2-70b": "llama-2-70b",
    "mixtral-8x7b": "mixtral-8x7b",
    "llama3.1-405b": "llama-3.1-405b",
    "llama3_1-405b": "llama-3.1-405b",
    "llama3.1-8b": "llama-3.1-8b",
    "llama3_1-8b": "llama-3.1-8b",
    "deepseek-r1": "deepseek-v3",
}
"""Presets of the models of the closed division."""

_ENGINES = {"TensorRT": "TensorRT-LLM", "vLLM": "vLLM", "vllm": "vLLM"}
_SCENARIOS = ("Offline", "Server", "Interactive")
_SAME = ("version", "submitter", "system", "scenario")
_COLUMNS = (
    *_SAME, "division", "accelerator", "accelerators_per_node", "nodes", "framework", "benchmark",
    "completed_samples_per_s", "completed_tokens_per_s", "samples_per_s", "tokens_per_s", "ttft_limit_ms",
    "tpot_limit_ms",
)  # fmt: skip
_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One certified result; ``hardware``, ``engine`` are empty where there is no preset or setting."""

    key: tuple[str, ...]
    label: str
    submitter: str
    version: str
    accelerator: str
    hardware: str
    engine: str
    model: str
    scenario: str
    n_per_node: int
    n_nodes: int
    rate_rps: float
    output_tokens: float
    ttft_s: float
    tpot_s: float

    @property
    def n(self) -> int:
        """Accelerators in all."""
        return self.n_per_node * self.n_nodes

    @property
    def system(self) -> tuple[str, ...]:
        """What two scenarios of one system have in common."""
        return (*self.key[:3], *self.key[4:])


def read_rows(path: Path) -> tuple[list[Row], list[str]]:
    """Rows of the closed division, once each (99.9 % before 99 %), and what was left out."""
    table = csv.DictReader(StringIO(read_text(path, most_bytes=_MOST_BYTES, wanted="a table of results")))
    missing = [name for name in _COLUMNS if name not in (table.fieldnames or ())]
    if missing:
        raise ConfigError(f"{path}: no column {', '.join(missing)}")
    rows: dict[tuple[str, ...], Row] = {}
    n_open = n_repeated = 0
    given = [(f"{path}: line {table.line_num}", row) for row in table]
    for where, row in sorted(given, key=lambda each: not each[1]["benchmark"].endswith("99.9")):
        benchmark = row["benchmark"].removesuffix("-99.9").removesuffix("-99")
        if row["scenario"] not in _SCENARIOS or benchmark not in MODELS:
            continue
        if row["division"] != "closed":
            n_open += 1
            continue
        key = (*(row[name] for name in _SAME), row["accelerator"], row["nodes"], benchmark)
        n_repeated += key in rows
        if key not in rows:
            rows[key] = _row(row, key, MODELS[benchmark], where)
    if not rows:
        raise ConfigError(f"{path}: no row of the closed division with a model and scenario of this claim")
    return list(rows.values()), _left_out(n_open, n_repeated, list(rows.values()))


def _left_out(n_open: int, n_repeated: int, rows: Sequence[Row]) -> list[str]:
    unknown = [row.accelerator for row in rows if not row.hardware]
    names = ", ".join(f"{name} ({unknown.count(name)})" for name in dict.fromkeys(unknown))
    return [
        f"left out: {n_repeated} rows of a system that repeat (99 and 99.9 % accuracy, or power runs)",
        f"left out: {n_open} rows of the open division, where the model may be another",
        f"left out: rows of accelerators or engines without preset: {names or 'none'}",
    ]


def _row(row: dict[str, str], key: tuple[str, ...], model: str, where: str) -> Row:
    rate = row["samples_per_s"] or row["completed_samples_per_s"]
    tokens = row["tokens_per_s"] or row["completed_tokens_per_s"]
    names = ("accelerators_per_node", "nodes", "ttft_limit_ms", "tpot_limit_ms")
    cells = {"rate": rate, "tokens": tokens, **{name: row[name] for name in names}}
    values = {name: _number(where, name, text) for name, text in cells.items()}
    if values["rate"] <= 0 or values["nodes"] < 1:
        raise ConfigError(f"{where}: a rate of {rate!r} on {row['nodes']!r} nodes; both must be > 0")
    engine = next((name for word, name in _ENGINES.items() if word in row["framework"]), "")
    hardware = _preset(row["accelerator"]) if engine else ""
    n_per_node, n_nodes = int(values["accelerators_per_node"]), int(values["nodes"])
    size = f"{n_per_node}" if n_nodes == 1 else f"{n_nodes} x {n_per_node}"
    return Row(
        key=key,
        label=f"{row['version']} {row['submitter']} {size} {hardware} {model} {row['scenario']}",
        submitter=row["submitter"],
        version=row["version"],
        accelerator=row["accelerator"],
        hardware=hardware,
        engine=engine,
        model=model,
        scenario=row["scenario"],
        n_per_node=n_per_node,
        n_nodes=n_nodes,
        rate_rps=values["rate"],
        output_tokens=values["tokens"] / values["rate"],
        ttft_s=values["ttft_limit_ms"] / 1e3,
        tpot_s=values["tpot_limit_ms"] / 1e3,
    )


def _number(where: str, name: str, text: str | None) -> float:
    try:
        return float(text or "")
    except ValueError:
        raise ConfigError(f"{where}: {name} is {text!r}, not a number") from None


def _preset(accelerator: str) -> str:
    """Name of the preset, empty if there is none."""
    if accelerator.startswith("["):  # a card of two accelerators
        return ""
    for maker in ("", "NVIDIA ", "AMD Instinct "):
        if accelerator.startswith(maker):
            try:
                return find_hardware(accelerator.removeprefix(maker)).name
            except ConfigError:
                continue
    return ""
