"""Results of llmperf: the summary of a run, and its individual responses."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

import numpy as np

from qtheory.basics.errors import ConfigError

from .content import Content, maybe, need, refuse_renamed, whole
from .point import BenchPoint

__all__ = ["NAME", "fits", "points"]

NAME = "llmperf"
_SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_DERIVED = "TPOT is (E2E - TTFT) / (outputs - 1): its inter-token latency has the first token in it"

_READ = (
    *(f"results_number_{side}_tokens_mean" for side in ("input", "output")),
    *("results_num_completed_requests", "results_num_completed_requests_per_min", "results_number_errors"),
)


def fits(content: Content) -> bool:
    """A summary, or a list of responses."""
    data = content.data
    if isinstance(data, Mapping):
        return "results_ttft_s_mean" in data
    return isinstance(data, list) and bool(data) and all(_is_response(entry) for entry in data)


def _is_response(entry: Any) -> bool:
    return isinstance(entry, Mapping) and "number_output_tokens" in entry


def points(content: Content) -> list[BenchPoint]:
    """The point of a run."""
    return [_summary(content) if isinstance(content.data, Mapping) else _responses(content)]


def _summary(content: Content) -> BenchPoint:
    data, where = content.data, content.name
    refuse_renamed(data, _READ, where)
    outputs = maybe(data, "results_number_output_tokens_mean", where)
    outputs = need(data, "mean_output_tokens", where) if outputs is None else outputs
    prompts = maybe(data, "results_number_input_tokens_mean", where)
    ttft, e2e = _quantiles(data, "ttft_s", where), _quantiles(data, "end_to_end_latency_s", where)
    done = "results_num_completed_requests"
    n = need(data, done, where, least=1) if done in data else 0
    per_minute = maybe(data, "results_num_completed_requests_per_min", where)
    return BenchPoint(
        where=where,
        tool=NAME,
        rate_rps=None,
        in_flight=whole(data, "num_concurrent_requests", where, least=1),
        n_completed=int(n),
        n_failed=int(maybe(data, "results_number_errors", where) or 0),
        prompt_tokens=need(data, "mean_input_tokens", where) if prompts is None else prompts,
        output_tokens=outputs,
        throughput_rps=None if per_minute is None else per_minute / 60,
        ttft_s=ttft,
        tpot_s={"mean": (e2e["mean"] - ttft["mean"]) / (outputs - 1)} if outputs > 1 else {},
        e2e_s=e2e,
        notes=(_DERIVED,),
    )


def _quantiles(data: Mapping[str, Any], name: str, where: str) -> dict[str, float]:
    found = {p: maybe(data, f"results_{name}_quantiles_{p}", where) for p in _SHARES}
    mean = need(data, f"results_{name}_mean", where)
    return {"mean": mean} | {p: value for p, value in found.items() if value is not None}


def _responses(content: Content) -> BenchPoint:
    where = content.name
    good = [entry for entry in content.data if not entry.get("error_code")]
    good = [entry for entry in good if (maybe(entry, "number_output_tokens", where) or 0) > 0]
    if not good:
        raise ConfigError(f"{where}: none of {len(content.data)} requests completed")

    def column(name: str) -> list[float]:
        return [need(entry, name, where) for entry in good]

    outputs, ttft, e2e = (column(n) for n in ("number_output_tokens", "ttft_s", "end_to_end_latency_s"))
    per_token = [(b - a) / (n - 1) for n, a, b in zip(outputs, ttft, e2e, strict=True) if n > 1]
    return BenchPoint(
        where=where,
        tool=NAME,
        rate_rps=None,
        n_completed=len(good),
        n_failed=len(content.data) - len(good),
        prompt_tokens=fmean(column("number_input_tokens")),
        output_tokens=fmean(outputs),
        ttft_s=_statistics(ttft),
        tpot_s=_statistics(per_token),
        e2e_s=_statistics(e2e),
        notes=(_DERIVED, "how many were in flight is not in it; give --in-flight"),
    )


def _statistics(values: list[float]) -> dict[str, float]:
    if not values:
        return {}
    return {"mean": fmean(values)} | {name: float(np.quantile(values, q)) for name, q in _SHARES.items()}
