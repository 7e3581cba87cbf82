"""Tables of the multi-round-qa benchmark of the vLLM production stack: a request a row."""

from __future__ import annotations

import numpy as np

from qtheory.basics.errors import ConfigError

from .content import Content, need
from .point import BenchPoint

__all__ = ["NAME", "fits", "points"]

NAME = "multi-round-qa"
_COLUMNS = ("prompt_tokens", "generation_tokens", "ttft", "generation_time", "launch_time", "finish_time")
_SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}


def fits(content: Content) -> bool:
    """A table with nearly all of these columns, so that a missing one can be named."""
    return len(set(_COLUMNS) & set(content.columns)) >= len(_COLUMNS) - 1


def points(content: Content) -> list[BenchPoint]:
    """One point: the rate is that of the launches; the time of a generation begins at the first token."""
    rows = content.rows()
    table = {
        name: np.array([need(row, name, f"{content.name}: line {i}") for i, row in enumerate(rows, start=2)])
        for name in _COLUMNS
    }
    launched = np.sort(table["launch_time"])
    span_s = float(launched[-1] - launched[0])
    if len(rows) < 2 or span_s <= 0:
        raise ConfigError(f"{content.name}: launch_time: {len(rows)} requests do not tell a rate")
    long = table["generation_tokens"] > 1
    per_token = table["generation_time"][long] / (table["generation_tokens"][long] - 1)
    took_s = float(np.max(table["finish_time"]) - launched[0])
    return [
        BenchPoint(
            where=content.name,
            tool=NAME,
            rate_rps=(len(rows) - 1) / span_s,
            n_completed=len(rows),
            duration_s=took_s,
            prompt_tokens=float(np.mean(table["prompt_tokens"])),
            output_tokens=float(np.mean(table["generation_tokens"])),
            throughput_rps=len(rows) / took_s,
            ttft_s=_statistics(table["ttft"]),
            tpot_s=_statistics(per_token) if long.any() else {},
            notes=("prompts repeat what was said in earlier rounds: a prefix cache has most of them",),
        )
    ]


def _statistics(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> dict[str, float]:
    shares = {name: float(np.quantile(values, q)) for name, q in _SHARES.items()}
    return {"mean": float(np.mean(values))} | shares
