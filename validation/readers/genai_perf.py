"""Exports of GenAI-Perf and AIPerf: summary tables, ``analyze`` tables, requests as JSON lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from qtheory.basics.errors import ConfigError

from .content import Content, maybe, need, whole
from .point import BenchPoint

__all__ = ["NAME", "fits", "points"]

NAME = "genai-perf"
_SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_ASKED = "the export does not say how requests were sent; give --in-flight or --sent-rate"


def fits(content: Content) -> bool:
    """One of the three exports."""
    return _is_summary(content) or _is_analysis(content) or _are_requests(content)


def _is_summary(content: Content) -> bool:
    return content.columns[:2] == ("Metric", "avg")


def _is_analysis(content: Content) -> bool:
    return content.columns[:2] == ("Config Name", "Concurrency")


def _are_requests(content: Content) -> bool:
    lines = content.data if isinstance(content.data, list) else [content.data]
    return bool(lines) and all(isinstance(r, Mapping) and {"metadata", "metrics"} <= set(r) for r in lines)


def points(content: Content) -> list[BenchPoint]:
    """A point a file, or one a row of an ``analyze`` table."""
    if _is_summary(content):
        return [_summary(content)]
    return _analysis(content) if _is_analysis(content) else [_requests(content)]


def _blocks(content: Content) -> list[list[dict[str, str]]]:
    """Tables of the file, divided by blank lines."""
    parts = [part for part in content.text.replace("\r\n", "\n").split("\n\n") if part.strip()]
    return [list(csv.DictReader(io.StringIO(part.strip(), newline=""))) for part in parts]


def _summary(content: Content) -> BenchPoint:
    blocks, where = _blocks(content), content.name
    if len(blocks) < 2:
        raise ConfigError(f"{where}: the second table (Metric,Value) is missing; is the file cut off?")
    rows = {row["Metric"]: row for row in blocks[0]}
    single = {row["Metric"]: row.get("Value", "") for row in blocks[1]}

    def times(name: str) -> dict[str, float]:
        row = rows.get(f"{name} (ms)", {})
        found = {ours: maybe(row, theirs, where) for ours, theirs in _columns().items()}
        return {ours: value / 1e3 for ours, value in found.items() if value}

    lengths = {
        side: need(
            rows.get(f"{side} Sequence Length (tokens)", {}), "avg", f"{where}: {side} Sequence Length"
        )
        for side in ("Input", "Output")
    }
    rate = next((name for name in single if name.startswith("Request Throughput")), "Request Throughput")
    n = maybe(single, "Request Count (count)", where)
    return BenchPoint(
        where=where,
        tool=NAME,
        rate_rps=None,
        n_completed=int(n or 0),
        prompt_tokens=lengths["Input"],
        output_tokens=lengths["Output"],
        throughput_rps=need(single, rate, where),
        ttft_s=times("Time To First Token"),
        tpot_s=times("Inter Token Latency"),
        e2e_s=times("Request Latency"),
        notes=(_ASKED,),
    )


def _columns() -> dict[str, str]:
    return {"mean": "avg"} | {name: name for name in _SHARES}


def _analysis(content: Content) -> list[BenchPoint]:
    made = []
    for i, row in enumerate(_blocks(content)[0], start=2):
        where = f"{content.name}: line {i}"
        rate = need(row, "Request Throughput (requests/sec)", where, least=1e-9)
        tokens = need(row, "Avg. Output Token Throughput (tokens/sec)", where)
        made.append(
            BenchPoint(
                where=where,
                tool=NAME,
                rate_rps=None,
                in_flight=whole(row, "Concurrency", where, least=1),
                n_completed=0,
                prompt_tokens=need(row, "ISL", where),
                output_tokens=tokens / rate,
                throughput_rps=rate,
                ttft_s={"p99": need(row, "p99 Time To First Token (ms)", where) / 1e3},
                tpot_s={"p99": need(row, "p99 Inter Token Latency (ms)", where) / 1e3},
                e2e_s={"p99": need(row, "p99 Request Latency (ms)", where) / 1e3},
                notes=("percentiles only; the table gives no means",),
            )
        )
    return made


def _requests(content: Content) -> BenchPoint:
    """AIPerf: cancelled and failed requests, and those of the warm-up, count as failed or not at all."""
    lines = content.data if isinstance(content.data, list) else [content.data]
    lines = [line for line in lines if line["metadata"].get("benchmark_phase", "profiling") == "profiling"]
    good = [line for line in lines if not line.get("error") and not line["metadata"].get("was_cancelled")]
    if not good:
        raise ConfigError(f"{content.name}: none of {len(lines)} requests completed")

    def values(name: str) -> list[float]:
        found = [_value(line["metrics"], name, content.name) for line in good]
        return [value for value in found if value is not None]

    outputs = values("output_sequence_length")
    tokens = [n for n in outputs if n > 1]
    start = min(need(line["metadata"], "request_start_ns", content.name) for line in good)
    end = max(need(line["metadata"], "request_end_ns", content.name) for line in good)
    span_s = max((end - start) / 1e9, 1e-9)
    return BenchPoint(
        where=content.name,
        tool="aiperf",
        rate_rps=None,
        n_completed=len(good),
        n_failed=len(lines) - len(good),
        duration_s=span_s,
        prompt_tokens=_mean(values("input_sequence_length"), "input_sequence_length", content.name),
        output_tokens=_mean(outputs, "output_sequence_length", content.name),
        throughput_rps=len(good) / span_s,
        ttft_s=_statistics(values("time_to_first_token")),
        tpot_s=_statistics(values("inter_token_latency")) if tokens else {},
        e2e_s=_statistics(values("request_latency")),
        notes=(_ASKED,),
    )


def _value(metrics: Mapping[str, Any], name: str, where: str) -> float | None:
    entry = metrics.get(name)
    if not isinstance(entry, Mapping):
        return None
    value = maybe(entry, "value", f"{where}: {name}")
    unit = str(entry.get("unit", ""))
    scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0}.get(unit, 1.0)
    return None if value is None else value * scale


def _mean(values: Sequence[float], name: str, where: str) -> float:
    if not values:
        raise ConfigError(f"{where}: {name}: missing in every request")
    return fmean(values)


def _statistics(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {}
    return {"mean": fmean(values)} | {name: float(np.quantile(values, q)) for name, q in _SHARES.items()}
