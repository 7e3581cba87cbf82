"""Requests that AIPerf exports: a JSON object a line, each value with its unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from qtheory.basics.checks import shown
from qtheory.basics.errors import ConfigError

from .content import Content, need, part, refuse_renamed
from .point import BenchPoint

__all__ = ["NAME", "fits", "points"]

NAME = "aiperf"
_SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0}
_READ = ("time_to_first_token", "inter_token_latency", "request_latency")
_ASKED = "the export does not say how requests were sent; give --in-flight or --sent-rate"


def fits(content: Content) -> bool:
    """Objects that have metadata and metrics."""
    return bool(lines := _lines(content)) and all(
        isinstance(line, Mapping) and {"metadata", "metrics"} <= set(line) for line in lines
    )


def _lines(content: Content) -> list[Any]:
    return content.data if isinstance(content.data, list) else [content.data]


def points(content: Content) -> list[BenchPoint]:
    """One point. Cancelled and failed requests count as failed; those of the warm-up do not count."""
    asked = [
        r for r in _lines(content) if part(r, "metadata").get("benchmark_phase", "profiling") == "profiling"
    ]
    good = [r for r in asked if not r.get("error") and not part(r, "metadata").get("was_cancelled")]
    if not good:
        raise ConfigError(f"{content.name}: none of {len(asked)} requests completed")
    where = content.name
    refuse_renamed({name for r in good for name in part(r, "metrics")}, _READ, where)

    def values(name: str) -> list[float]:
        found = [_value(part(r, "metrics"), name, where) for r in good]
        return [value for value in found if value is not None]

    outputs = values("output_sequence_length")
    start = min(need(part(r, "metadata"), "request_start_ns", where) for r in good)
    end = max(need(part(r, "metadata"), "request_end_ns", where) for r in good)
    if not end > start:
        raise ConfigError(f"{where}: request_end_ns is not after request_start_ns")
    span_s = (end - start) / 1e9
    return [
        BenchPoint(
            where=where,
            tool=NAME,
            rate_rps=None,
            n_completed=len(good),
            n_failed=len(asked) - len(good),
            duration_s=span_s,
            prompt_tokens=_mean(values("input_sequence_length"), "input_sequence_length", where),
            output_tokens=_mean(outputs, "output_sequence_length", where),
            throughput_rps=len(good) / span_s,
            ttft_s=_statistics(values("time_to_first_token")),
            tpot_s=_statistics(values("inter_token_latency")) if max(outputs) > 1 else {},
            e2e_s=_statistics(values("request_latency")),
            notes=(_ASKED,),
        )
    ]


def _value(metrics: Mapping[str, Any], name: str, where: str) -> float | None:
    entry = metrics.get(name)
    if not isinstance(entry, Mapping):
        return None
    value, unit = need(entry, "value", f"{where}: {name}"), entry.get("unit")
    if unit in ("tokens", "token"):
        return value
    if not isinstance(unit, str) or unit not in _SECONDS:
        raise ConfigError(f"{where}: {name}: unit: {shown(unit)} is none of {', '.join(_SECONDS)}")
    return value * _SECONDS[unit]


def _mean(values: Sequence[float], name: str, where: str) -> float:
    if not values:
        raise ConfigError(f"{where}: {name}: missing in every request")
    return fmean(values)


def _statistics(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {}
    return {"mean": fmean(values)} | {name: float(np.quantile(values, q)) for name, q in _SHARES.items()}
