"""Replications of a finite run put together: means over runs with their intervals, totals of counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.system.results import ESTIMATED, RunResult
from sim.statistics import Interval, estimate_share, replication_interval

from .point import Replication

__all__ = ["combine_finite", "put_in", "seen"]

_TOTALS = ("n_requests", "n_finished", "n_shed", "n_rejected", "n_unfinished", "n_preemptions")
_LARGEST = ("max_itl_s", "peak_kv_frac")
_MEANS = ("makespan_s", "busy_frac", "mean_running", "mean_waiting", "mean_kv_frac", "recomputed_frac")
_WAITS = ("waits_for_slots_frac", "waits_for_budget_frac", "waits_for_memory_frac")  # None where unknown


def combine_finite(replications: Sequence[Replication], level: float) -> RunResult:
    """Numbers of a finite run: mean over replications with a t-interval; no steady state is claimed.

    The share of good requests is that of all requests together, with Wilson's limits, whose width is never
    zero (without series of single requests it is treated like the other numbers). One replication has no
    limits.

    Parameters
    ----------
    replications : sequence of Replication
        At least one, in the order of their numbers.
    level : float
        Of the limits, in (0, 1).
    """
    results = [one.result for one in replications]
    if len(results) == 1:
        return replace(results[0], level=level)
    numbers: dict[str, Any] = {name: sum(getattr(one, name) for one in results) for name in _TOTALS}
    numbers |= {name: _largest(results, name) for name in _LARGEST}
    numbers |= {name: float(np.mean(seen(results, name))) for name in _MEANS}
    numbers |= {name: float(np.mean(known)) for name in _WAITS if (known := seen(results, name))}
    whole = replace(results[0], n_replications=len(results), level=level, **numbers)
    for name in ESTIMATED:
        values = seen(results, name)
        if name == "goodput_frac" and all("good" in one.series for one in replications):
            whole = put_in(whole, name, _share(replications, level))
        elif len(values) >= 2:
            whole = put_in(whole, name, replication_interval(values, level=level))
        else:
            alone: dict[str, Any] = {name: values[0] if values else None}
            whole = replace(whole, **alone)
    return whole


def seen(results: Sequence[RunResult], name: str) -> list[float]:
    """Values of a field in the runs that have one."""
    return [value for one in results if (value := getattr(one, name)) is not None]


def put_in(result: RunResult, name: str, interval: Interval | None) -> RunResult:
    """The result with an estimate and its limits; without an interval it stays as it is."""
    if interval is None:
        return result
    unreliable = result.unreliable if interval.reliable else (*result.unreliable, name)
    limits = result.limits | {name: (interval.low, interval.high)}
    changed: dict[str, Any] = {name: interval.estimate, "limits": limits, "unreliable": unreliable}
    return replace(result, **changed)


def _largest(results: Sequence[RunResult], name: str) -> float | None:
    return max(seen(results, name), default=None)


def _share(replications: Sequence[Replication], level: float) -> Interval | None:
    """Share of good requests; that it would be unreliable as one of a steady state is not claimed here."""
    runs = [one.series for one in replications if len(one.series["good"])]
    if len(runs) < 2:
        return None
    late: list[NDArray[Any]] = [run["ttft_s"][~np.isnan(run["ttft_s"])] for run in runs]
    like = late if all(map(len, late)) else None
    return replace(
        estimate_share([run["good"] for run in runs], like=like, level=level), reliable=True, reason=""
    )
