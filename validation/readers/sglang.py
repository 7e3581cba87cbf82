"""Results of ``sglang.bench_serving --output-file``: one JSON object a line and run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .content import Content, maybe, need, refuse_renamed, whole
from .point import BenchPoint
from .vllm import sent

__all__ = ["NAME", "fits", "points"]

NAME = "sglang bench_serving"
_STATISTICS = {"mean": "mean", "median": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}

_READ = (
    *(f"{of}_{name}_ms" for of in ("mean", "median") for name in ("ttft", "tpot", "itl", "e2e_latency")),
    *("request_rate", "max_concurrency", "request_throughput"),
)


def fits(content: Content) -> bool:
    """Objects with the key that only this tool has."""
    found = content.data if isinstance(content.data, list) else [content.data]
    return bool(found) and all(
        isinstance(run, Mapping) and "total_output_tokens_retokenized" in run for run in found
    )


def points(content: Content) -> list[BenchPoint]:
    """A point a line."""
    runs = content.data if isinstance(content.data, list) else [content.data]
    return [_point(run, f"{content.name}: line {i}") for i, run in enumerate(runs, start=1)]


def _point(run: Mapping[str, Any], where: str) -> BenchPoint:
    refuse_renamed(run, _READ, where)
    n = whole(run, "completed", where, least=1)
    outputs = need(run, "total_output_tokens", where) / n
    rate, in_flight = sent(run, where)
    times = {name: _times(run, name, where) for name in ("ttft", "tpot", "itl", "e2e_latency")}
    ttft, tpot, e2e, notes = times["ttft"], times["tpot"], times["e2e_latency"], []
    if not tpot and outputs > 1 and "mean" in e2e and ("mean" in ttft or "p50" in ttft):
        first = ttft.get("mean", ttft.get("p50", 0.0))
        tpot = {"mean": (e2e["mean"] - first) / (outputs - 1)}
        notes.append("TPOT from means of E2E and TTFT (this version gives none)")
    return BenchPoint(
        where=where,
        tool=NAME,
        rate_rps=rate,
        in_flight=in_flight,
        n_completed=n,
        duration_s=need(run, "duration", where),
        prompt_tokens=need(run, "total_input_tokens", where) / n,
        output_tokens=outputs,
        throughput_rps=maybe(run, "request_throughput", where)
        or n / need(run, "duration", where, least=1e-9),
        ttft_s=ttft,
        tpot_s=tpot,
        itl_s=times["itl"],
        e2e_s=e2e,
        notes=tuple(notes),
    )


def _times(run: Mapping[str, Any], name: str, where: str) -> dict[str, float]:
    found = {ours: maybe(run, f"{theirs}_{name}_ms", where) for theirs, ours in _STATISTICS.items()}
    return {ours: value / 1e3 for ours, value in found.items() if value}
