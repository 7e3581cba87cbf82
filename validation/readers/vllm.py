"""Results of ``vllm bench serve`` (``benchmark_serving.py``): one JSON object a run, plain or detailed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from qtheory.basics.errors import ConfigError

from .content import Content, maybe, need, refuse_renamed, whole
from .point import BenchPoint

__all__ = ["NAME", "fits", "points"]

NAME = "vllm bench serve"
_STATISTICS = {"mean": "mean", "median": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}

_READ = (
    *(f"{of}_{name}_ms" for of in ("mean", "median") for name in ("ttft", "tpot", "itl", "e2el")),
    *("num_prompts", "request_rate", "burstiness", "max_concurrency", "request_throughput"),
)


def fits(content: Content) -> bool:
    """One object, or lines of them, with the keys of this tool."""
    found = content.data if isinstance(content.data, list) else [content.data]
    return bool(found) and all(isinstance(run, Mapping) and _is_run(run) for run in found)


def _is_run(run: Mapping[str, Any]) -> bool:
    return "total_input_tokens" in run and ("num_prompts" in run or "request_throughput" in run)


def points(content: Content) -> list[BenchPoint]:
    """A point a run."""
    runs = content.data if isinstance(content.data, list) else [content.data]
    where = [content.name] if len(runs) == 1 else [f"{content.name}: run {i + 1}" for i in range(len(runs))]
    return [_point(run, place) for run, place in zip(runs, where, strict=True)]


def _point(run: Mapping[str, Any], where: str) -> BenchPoint:
    refuse_renamed(run, _READ, where)
    n = whole(run, "completed", where)
    if n == 0:
        raise ConfigError(f"{where}: completed: no request was; its errors say why")
    n_asked = maybe(run, "num_prompts", where)
    rate, in_flight = sent(run, where)
    burstiness = maybe(run, "burstiness", where)
    times = {name: _times(run, name, where) for name in ("ttft", "tpot", "itl", "e2el")}
    return BenchPoint(
        where=where,
        tool=NAME,
        rate_rps=rate,
        arrival_cv=1.0 if not burstiness else 1 / math.sqrt(burstiness),
        in_flight=in_flight,
        n_completed=n,
        n_failed=max(0, int(n_asked) - n) if n_asked is not None else 0,
        duration_s=need(run, "duration", where),
        prompt_tokens=need(run, "total_input_tokens", where) / n,
        output_tokens=need(run, "total_output_tokens", where) / n,
        throughput_rps=maybe(run, "request_throughput", where),
        ttft_s=times["ttft"],
        tpot_s=times["tpot"],
        itl_s=times["itl"],
        e2e_s=times["e2el"],
        notes=_notes(run),
    )


def sent(run: Mapping[str, Any], where: str) -> tuple[float | None, int]:
    """Rate of an open load (None: closed), and requests in flight at most.

    Parameters
    ----------
    run : mapping
        With ``request_rate``, a number or ``inf``, and ``max_concurrency``.
    where : str
        For messages.
    """
    rate, cap = maybe(run, "request_rate", where), maybe(run, "max_concurrency", where)
    rate = math.inf if rate is None or rate <= 0 else rate
    if cap is None or cap < 1:
        return rate, 0
    return (None if math.isinf(rate) else rate), int(cap)


def _times(run: Mapping[str, Any], name: str, where: str) -> dict[str, float]:
    found = {ours: maybe(run, f"{theirs}_{name}_ms", where) for theirs, ours in _STATISTICS.items()}
    return {ours: value / 1e3 for ours, value in found.items() if value}


def _notes(run: Mapping[str, Any]) -> tuple[str, ...]:
    lengths = run.get("output_lens")
    if isinstance(lengths, list) and any(length == 0 for length in lengths):
        n = sum(length == 0 for length in lengths)
        return (
            f"{n} of {len(lengths)} listed requests have no output; the means of the tool leave them out",
        )
    return ()
