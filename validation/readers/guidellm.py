"""Reports of GuideLLM: JSON with one benchmark a rate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from qtheory.basics.errors import ConfigError

from .content import Content, maybe, need, part, refuse_renamed
from .point import BenchPoint

__all__ = ["NAME", "fits", "points"]

NAME = "guidellm"
_PERCENTILES = {"p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}

_TIMES = ("time_to_first_token_ms", "inter_token_latency_ms", "request_latency", "requests_per_second")
_LIKE = ("time_to_first_output_token_ms", "time_per_output_token_ms")


def fits(content: Content) -> bool:
    """An object with a list of benchmarks that have metrics."""
    data = content.data
    if not isinstance(data, Mapping) or not isinstance(data.get("benchmarks"), list):
        return False
    return all(isinstance(run, Mapping) and "metrics" in run for run in data["benchmarks"])


def points(content: Content) -> list[BenchPoint]:
    """A point a benchmark."""
    runs = content.data["benchmarks"]
    if not runs:
        raise ConfigError(f"{content.name}: benchmarks: the list is empty")
    return [_point(run, f"{content.name}: benchmark {i}") for i, run in enumerate(runs, start=1)]


def _point(run: Mapping[str, Any], where: str) -> BenchPoint:
    metrics, strategy = part(run, "metrics"), _strategy(run)
    refuse_renamed(metrics, _TIMES, where, known=_LIKE)
    refuse_renamed(run, ("duration",), where)
    refuse_renamed(strategy, ("rate", "max_concurrency"), where)
    kind = str(strategy.get("type_", strategy.get("type", "")))
    totals = part(metrics, "request_totals")
    rate = maybe(strategy, "rate", where)
    is_closed = kind in ("concurrent", "synchronous")
    cap = 1 if kind == "synchronous" else maybe(strategy, "max_concurrency" if rate else "streams", where)
    if is_closed and cap is None:
        cap = maybe(strategy, "max_concurrency", where) or rate
    return BenchPoint(
        where=where,
        tool=NAME,
        rate_rps=None if is_closed else math.inf if kind == "throughput" else rate,
        arrival_cv=1.0 if kind == "poisson" else 0.0,
        in_flight=int(cap or 0),
        n_completed=int(need(totals, "successful", where, least=1)),
        n_failed=int(maybe(totals, "errored", where) or 0),
        duration_s=maybe(run, "duration", where),
        prompt_tokens=_mean(metrics, "prompt_token_count", where),
        output_tokens=_mean(metrics, "output_token_count", where),
        throughput_rps=_times(metrics, "requests_per_second", where, 1.0).get("mean"),
        ttft_s=_times(metrics, "time_to_first_token_ms", where),
        tpot_s=_times(metrics, "inter_token_latency_ms", where),
        e2e_s=_times(metrics, "request_latency", where, 1.0),
        notes=("TPOT is its inter-token latency: its time per output token has the first token in it",),
    )


def _strategy(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """How requests were sent, in the layouts of its versions."""
    for holder in (run.get("config"), run.get("args"), run):
        if isinstance(holder, Mapping) and isinstance(holder.get("strategy"), Mapping):
            found: Mapping[str, Any] = holder["strategy"]
            return found
    return {}


def _part(metrics: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return part(part(metrics, name), "successful")


def _mean(metrics: Mapping[str, Any], name: str, where: str) -> float:
    return need(_part(metrics, name), "mean", f"{where}: {name}")


def _times(metrics: Mapping[str, Any], name: str, where: str, scale: float = 1e-3) -> dict[str, float]:
    found, place = _part(metrics, name), f"{where}: {name}"
    refuse_renamed(part(metrics, name), ("successful",), place)
    percentiles = part(found, "percentiles")
    values = {"mean": need(found, "mean", place) if found else None}
    values |= {ours: maybe(percentiles, theirs, place) for theirs, ours in _PERCENTILES.items()}
    return {ours: value * scale for ours, value in values.items() if value}
