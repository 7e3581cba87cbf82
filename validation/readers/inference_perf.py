"""Stage reports of inference-perf (``stage_N_lifecycle_metrics.json``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qtheory.basics.errors import ConfigError

from .content import Content, maybe, need, part, refuse_renamed, whole
from .point import BenchPoint

__all__ = ["NAME", "fits", "points"]

NAME = "inference-perf"
_STATISTICS = {"mean": "mean", "median": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}
_HALVED = 0.75
_PROMETHEUS = (
    "no load_summary and latencies of requests: this is its Prometheus report; give the lifecycle report of "
    "the stage (stage_N_lifecycle_metrics.json)"
)

_TIMES = ("time_to_first_token", "request_latency", "time_per_output_token")


def fits(content: Content) -> bool:
    """An object with a summary of the load and of the successes."""
    data = content.data
    return isinstance(data, Mapping) and "load_summary" in data and "successes" in data


def points(content: Content) -> list[BenchPoint]:
    """The point of a stage. Its TPOT may be halved (two stream chunks a token), so E2E - TTFT is divided."""
    data, where = content.data, content.name
    load, good = part(data, "load_summary"), part(data, "successes")
    latency = part(good, "latency")
    if not latency or not load:
        raise ConfigError(f"{where}: {_PROMETHEUS}")
    _refuse_renamed(load, good, where)
    n = whole(good, "count", where, least=1)
    outputs = need(part(good, "output_len"), "mean", f"{where}: output_len")
    ttft, e2e = _times(latency, "time_to_first_token", where), _times(latency, "request_latency", where)
    tpot, notes = {}, []
    if outputs > 1 and "mean" in ttft and "mean" in e2e:
        tpot = {"mean": (e2e["mean"] - ttft["mean"]) / (outputs - 1)}
        notes += _of_tpot(tpot["mean"], _times(latency, "time_per_output_token", where))
    rate, sent = (maybe(load, name, where) for name in ("requested_rate", "achieved_rate"))
    if rate and sent and sent < 0.95 * rate:
        notes.append(f"the client sent {sent:.3g} of {rate:.3g} req/s: its own limit, not the server's")
    notes.append("the client counted its text again: outputs may be longer; give --output if you know it")
    notes.append("arrivals taken as Poisson: even its constant load has random gaps, scaled to the stage")
    got, failed = maybe(part(good, "throughput"), "requests_per_sec", where), part(data, "failures")
    return [
        BenchPoint(
            where=where,
            tool=NAME,
            rate_rps=sent or rate,
            arrival_cv=1.0,
            n_completed=n,
            n_failed=int(maybe(failed, "count", where) or 0),
            duration_s=n / got if got else None,
            prompt_tokens=need(part(good, "prompt_len"), "mean", f"{where}: prompt_len"),
            output_tokens=outputs,
            throughput_rps=got,
            ttft_s=ttft,
            tpot_s=tpot,
            e2e_s=e2e,
            notes=tuple(notes),
        )
    ]


def _refuse_renamed(load: Mapping[str, Any], good: Mapping[str, Any], where: str) -> None:
    refuse_renamed(load, ("requested_rate", "achieved_rate"), where)
    refuse_renamed(good, ("throughput",), where)
    refuse_renamed(part(good, "throughput"), ("requests_per_sec",), where)
    refuse_renamed(part(good, "latency"), _TIMES, where)


def _of_tpot(mean_s: float, own: Mapping[str, float]) -> list[str]:
    notes = ["TPOT is (E2E - TTFT) / (outputs - 1)"]
    if own.get("mean", mean_s) < _HALVED * mean_s:
        notes.append(f"its own TPOT of {1e3 * own['mean']:.1f} ms counts two stream chunks a token")
    return notes


def _times(latency: Mapping[str, Any], name: str, where: str) -> dict[str, float]:
    values = part(latency, name)
    if values:
        need(values, "mean", f"{where}: {name}")
    found = {ours: maybe(values, theirs, f"{where}: {name}") for theirs, ours in _STATISTICS.items()}
    return {ours: value for ours, value in found.items() if value}
