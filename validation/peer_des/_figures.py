"""What a replay gives, in the columns of the published answers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.record import Records, Status

__all__ = ["EXACT", "SHORT_NAMES", "by_request", "totals"]

Floats = NDArray[np.float64]

EXACT = ("completed", "completed_requests", "admissions", "reused_tokens")
"""Columns that must be equal."""

_STATISTIC = re.compile(r"(mean|median|min|max|std|p\d{1,2})_(ttft|tpot|e2e_latency|itl)_ms")
_QUANTITIES = ("ttft", "tpot", "e2e_latency", "itl")
_LEVELS = ("mean", "median", "min", "max", "std", *(f"p{level}" for level in (50, 75, 90, 95, 99)))

SHORT_NAMES: dict[str, str] = {
    "request_throughput_rps": "throughput_requests",
    "output_throughput_tok_s": "throughput_output",
    "goodput_request_throughput_rps": "goodput",
    "reuse_ratio": "reuse",
    "first_admission_prefix_cache_reused_ratio": "reuse",
    "duration_ms": "duration",
    **{
        f"{level}_{quantity}_ms": f"{level}_{quantity.removesuffix('_latency')}"
        for level in _LEVELS
        for quantity in _QUANTITIES
    },
}
"""From a column of totals to the name in the keys of a tolerance, such as p99_ttft in p99_ttft_rel."""


def by_request(records: Records, lines: NDArray[np.int64]) -> dict[str, Floats]:
    """Columns of figures a request, in the order of the lines of the trace; moments in milliseconds."""
    arrival_ms = records.requests.arrival_s * 1000
    first_ms = records.first_token_s * 1000
    last_ms = np.where(records.status == Status.FINISHED, records.finish_s * 1000, np.nan)
    columns = {
        "arrival_ms": arrival_ms,
        "admit_ms": records.first_scheduled_s * 1000,
        "first_token_ms": first_ms,
        "last_token_ms": last_ms,
        "ttft_ms": first_ms - arrival_ms,
        "mean_itl_ms": _gaps(records) * 1000,
        "e2e_ms": last_ms - arrival_ms,
        "reused_tokens": records.cached_tokens.astype(float),
        "admissions": records.n_preemptions + 1.0,
    }
    place = np.argsort(lines)  # (n,) row of the records for each line
    return {name: column[place] for name, column in columns.items()}


def totals(records: Records, slo_ms: Mapping[str, float]) -> Callable[[str], float | None]:
    """What gives the figure of a column of totals; None for a column that is not known.

    Parameters
    ----------
    records : Records
    slo_ms : mapping
        ``ttft_ms`` and ``mean_gap_ms``: limits of a good request, inclusive.
    """
    requests = records.requests
    done = records.status == Status.FINISHED
    ttft_ms = (records.first_token_s - requests.arrival_s) * 1000
    gap_ms = _gaps(records) * 1000
    duration_s = float(np.max(records.finish_s[done], initial=0.0))
    good = done & (ttft_ms <= slo_ms.get("ttft_ms", math.inf))
    good &= ~(gap_ms > slo_ms.get("mean_gap_ms", math.inf))  # a single token has no gap
    n_done, per_s = int(np.sum(done)), 1 / duration_s if duration_s else math.nan
    plain: dict[str, float] = {
        "completed": n_done,
        "completed_requests": n_done,
        "duration_ms": duration_s * 1000,
        "request_throughput_rps": n_done * per_s,
        "output_throughput_tok_s": float(np.sum(requests.output_tokens[done])) * per_s,
        "goodput_request_throughput_rps": float(np.sum(good)) * per_s,
    }
    reuse = float(np.sum(records.cached_tokens)) / float(np.sum(requests.prompt_tokens))
    plain |= {"reuse_ratio": reuse, "first_admission_prefix_cache_reused_ratio": reuse}
    samples: dict[str, Callable[[], Floats]] = {
        "ttft": lambda: ttft_ms[done],
        "tpot": lambda: gap_ms[done & (requests.output_tokens > 1)],
        "e2e_latency": lambda: (records.finish_s - requests.arrival_s)[done] * 1000,
        "itl": lambda: np.repeat(*records.gaps.expand()) * 1000,
    }

    def figure(column: str) -> float | None:
        if column in plain:
            return plain[column]
        found = _STATISTIC.fullmatch(column)
        return _statistic(found[1], samples[found[2]]()) if found else None

    return figure


def _gaps(records: Records) -> Floats:
    """Mean seconds between the tokens of a request, NaN for a single one."""
    n_gaps = np.where(records.requests.output_tokens > 1, records.requests.output_tokens - 1, np.nan)
    return np.asarray((records.finish_s - records.first_token_s) / n_gaps)


def _statistic(level: str, values: Floats) -> float:
    """A statistic as the published engine has it: a percentile is the value nearest in rank."""
    plain: dict[str, Any] = {"mean": np.mean, "min": np.min, "max": np.max, "std": np.std}
    if not len(values):
        return math.nan
    if level in plain:
        return float(plain[level](values))
    share = 0.5 if level == "median" else int(level[1:]) / 100
    rank = math.floor((len(values) - 1) * share + 0.5)
    return float(np.partition(values, rank)[rank])
