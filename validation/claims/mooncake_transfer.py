"""Measured transfers of keys and values between instances: size by the model, time by the link."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from qtheory.basics.errors import ConfigError
from qtheory.system.models import ModelSpec, find_model
from sim.cluster import Link

from ._tables import number, table
from .claim import Claim, Compared, Finding, Measured

__all__ = ["CLAIM"]

_FILE = "benchmarks/mooncake_kv_transfer.csv"
_COLUMNS = ("setup", "prompt_tokens", "ttft_mean_ms", "kv_size_mb", "transfer_ms")
_MB = 2.0**20
_ACCELERATORS = re.compile(r"\bTP(\d+)\b")
_NODE = 8  # accelerators of an instance, where a setup does not say
_BLOCK_TOKENS = {"vLLM": 16}  # sent whole, with the token that follows the prompt; other engines: one by one
_SIZE, _TIME = 0.1, 0.1


class _Row(NamedTuple):
    prompt_tokens: int
    ttft_s: float
    size_bytes: float
    transfer_s: float


def _answer(folder: Path) -> Finding:
    parts, points, notes = [], [], []
    for setup, rows in _setups(folder).items():
        model, said = _model_of(setup), _ACCELERATORS.search(setup)
        copies = max(1, (int(said[1]) if said else _NODE) // model.kv_heads)
        token_bytes = copies * model.kv_bytes_per_token()
        link = _link(rows, token_bytes)
        block = _BLOCK_TOKENS.get(setup.split()[0], 1)
        sent = [block * -(-(row.prompt_tokens + 1) // block) for row in rows]
        sizes = [abs(token_bytes * n / row.size_bytes - 1) for n, row in zip(sent, rows, strict=True)]
        inner = [(row, link.seconds(round(row.size_bytes / token_bytes))) for row in rows[1:-1]]
        times = [abs(found / row.transfer_s - 1) for row, found in inner]
        parts += [
            _within(f"{setup}: bytes of a prompt", sizes, _SIZE),
            _within(f"{setup}: seconds of the transfers between shortest and longest", times, _TIME),
            _grows(setup, rows),
        ]
        speed = link.tokens_per_s * token_bytes / 1e9
        notes.append(
            f"{setup}: {token_bytes / 1024:.0f} KiB a token (kept {copies}x); "
            f"{1e3 * link.latency_s:.2f} ms and {speed:.0f} GB/s"
        )
        points += [_point(setup, row, found) for row, found in inner]
    return Finding(parts=tuple(parts), points=tuple(points), notes=tuple(notes))


def _setups(folder: Path) -> dict[str, list[_Row]]:
    found: dict[str, list[_Row]] = {}
    for line, row in enumerate(table(folder / _FILE, _COLUMNS), start=2):
        where = f"{folder / _FILE}: line {line}"
        tokens, ttft, size, transfer = (number(row, name, where) for name in _COLUMNS[1:])
        if min(tokens, ttft, size, transfer) <= 0:
            raise ConfigError(f"{where}: tokens, times and sizes must be > 0")
        found.setdefault(row["setup"], []).append(_Row(int(tokens), ttft / 1e3, size * _MB, transfer / 1e3))
    for setup, rows in found.items():
        rows.sort()
        if len(rows) < 3 or rows[0].size_bytes >= rows[-1].size_bytes:
            raise ConfigError(f"{folder / _FILE}: {setup}: at least three prompts of different lengths")
    return found


def _model_of(setup: str) -> ModelSpec:
    """The model that a setup names: one of its words, such as ``Qwen3-8B``, is that of a preset."""
    for word in re.split(r"[\s,;()]+", setup):
        if re.search(r"\d[bB]\b", word) and "-" in word:
            return find_model(word.lower())
    raise ConfigError(f"{_FILE}: setup {setup!r} names no model, as Qwen3-8B is one")


def _link(rows: list[_Row], token_bytes: float) -> Link:
    """Latency and bandwidth of the shortest and the longest transfer."""
    first, last = rows[0], rows[-1]
    seconds_per_byte = (last.transfer_s - first.transfer_s) / (last.size_bytes - first.size_bytes)
    latency_s = max(first.transfer_s - seconds_per_byte * first.size_bytes, 0.0)
    return Link(tokens_per_s=1 / (seconds_per_byte * token_bytes), latency_s=latency_s)


def _within(what: str, off: list[float], most: float) -> Measured:
    found = f"{np.median(off):.1%} in the median, {np.max(off):.1%} at most"
    return Measured(what=f"{what} within {most:.0%}", found=found, holds=bool(np.max(off) <= most))


def _grows(setup: str, rows: list[_Row]) -> Measured:
    """A prompt is computed for longer than it is sent, at every length."""
    share = max(row.transfer_s / row.ttft_s for row in rows)
    return Measured(
        what=f"{setup}: sending takes less than a tenth of the time to the first token",
        found=f"{share:.1%} at most",
        holds=share < 0.1,
    )


def _point(setup: str, row: _Row, found_s: float) -> Compared:
    return Compared(
        what=f"{setup}, {row.prompt_tokens} tokens",
        hardware=setup.rpartition(", ")[2],
        engine=setup.partition(" 1P")[0],
        metric="transfer",
        route="simulation",
        setting="latency and bandwidth of the shortest and the longest transfer",
        load="one request at a time",
        measured=1e3 * row.transfer_s,
        found=1e3 * found_s,
        unit="ms",
    )


CLAIM = Claim(
    name="mooncake-transfers",
    question="Do bytes of a model and a link with two numbers give what sending keys and values took?",
    source="kvcache-ai/Mooncake @ 3b5a594, docs/source/performance: one prefill and one decode instance, "
    "Qwen3-8B under vLLM and Qwen3-235B-A22B under SGLang",
    calibrated="latency and bandwidth of each setup, on its shortest and its longest transfer; heads of keys "
    "and values that are fewer than the accelerators of an instance are kept and sent more than once",
    teaches="blocks are sent in pieces whose number is not in proportion to the tokens, or more is sent",
    answer=_answer,
    needs=(_FILE,),
)
