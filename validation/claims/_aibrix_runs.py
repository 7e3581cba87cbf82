"""Conversations with long histories before eight replicas, as AIBrix's regression tests measured them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError

from ._tables import number, table

__all__ = ["FILES", "Run", "read_experiments"]

FILES = ("benchmarks/aibrix_v0.2.1_requests.csv.gz", "benchmarks/aibrix_v0.3.0_requests.csv.gz")
"""Files that are read."""

_COLUMNS = (
    "qps",
    "launch_s",
    "user_id",
    "prompt_tokens",
    "generation_tokens",
    "ttft_s",
    "generation_time_s",
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """All requests (n,) at one offered rate."""

    rate_rps: float
    sent_s: Floats
    user: Ints
    prompt_tokens: Ints
    output_tokens: Ints
    ttft_s: Floats
    decode_s: Floats

    @property
    def served_rps(self) -> float:
        """Requests over the time from the first sent to the last ended."""
        return len(self.sent_s) / float(np.max(self.sent_s + self.ttft_s + self.decode_s) - self.sent_s[0])

    @property
    def per_token_s(self) -> float:
        """Mean decode time over the tokens after the first."""
        return float(np.sum(self.decode_s) / np.sum(np.maximum(self.output_tokens - 1, 1)))


def read_experiments(folder: Path) -> dict[tuple[str, str], list[Run]]:
    """Runs by version and name, in order of the rate."""
    found: dict[tuple[str, str], dict[float, list[list[float]]]] = {}
    for file in FILES:
        version = file.split("_")[1]
        for line, row in enumerate(table(folder / file, ("experiment", *_COLUMNS)), start=2):
            values = [number(row, name, f"{folder / file}: line {line}") for name in _COLUMNS]
            found.setdefault((version, row["experiment"]), {}).setdefault(values[0], []).append(values)
    for name, runs in found.items():
        if len(runs) < 2:
            raise ConfigError(f"{folder}: {' '.join(name)}: at least two rates")
    return {name: [_run(rate, runs[rate]) for rate in sorted(runs)] for name, runs in found.items()}


def _run(rate_rps: float, rows: list[list[float]]) -> Run:
    _, sent, user, prompts, outputs, ttft, decode = np.array(sorted(rows, key=lambda row: row[1])).T
    return Run(
        rate_rps=rate_rps,
        sent_s=sent,
        user=user.astype(np.int64),
        prompt_tokens=prompts.astype(np.int64),
        output_tokens=np.maximum(outputs.astype(np.int64), 1),
        ttft_s=ttft,
        decode_s=decode,
    )
