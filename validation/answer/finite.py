"""Replications of a finite run put together: means over runs with their intervals, totals of counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.system.results import ESTIMATED, RunResult
from sim.statistics import Interval, estimate_share, estimate_share_of_runs, replication_interval

from .by_tenant import mean_tenants
from .point import Replication

__all__ = ["combine_finite", "put_in", "seen"]

_TOTALS = ("n_requests", "n_finished", "n_shed", "n_rejected", "n_unfinished", "n_preemptions")
_LARGEST = ("max_itl_s", "peak_kv_frac")
_MEANS = ("makespan_s", "busy_frac", "mean_running", "mean_waiting", "mean_kv_frac", "recomputed_frac")
_P90_OF_NORMAL = 1.2816  # standard deviations from the median to the 90th percentile
_WAITS = ("waits_for_slots_frac", "waits_for_budget_frac", "waits_for_memory_frac")  # None where unknown


def combine_finite(replications: Sequence[Replication], level: float) -> RunResult:
    """Numbers of a finite run: mean over replications with a t-interval; no steady state is claimed.

    The share of good requests is that of all requests together, with Wilson's limits, whose width is never
    zero. One replication has no limits.

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
    numbers |= _of_attempts(results)
    numbers |= {name: _largest(results, name) for name in _LARGEST}
    if cached := seen(results, "cached_tokens"):
        numbers["cached_tokens"] = sum(cached)
    numbers |= {name: float(np.mean(seen(results, name))) for name in _MEANS}
    numbers |= {name: float(np.mean(known)) for name in _WAITS if (known := seen(results, name))}
    numbers["tenants"] = mean_tenants([one.tenants for one in results])
    whole = replace(results[0], n_replications=len(results), level=level, **numbers)
    for name in ESTIMATED:
        values = seen(results, name)
        if name == "goodput_frac":
            has_series = all("good" in one.series for one in replications)
            share = _share(replications, level) if has_series else _share_of_results(results, level)
            whole = put_in(whole, name, share)
        elif len(values) >= 2:
            whole = put_in(whole, name, replication_interval(values, level=level))
        else:
            alone: dict[str, Any] = {name: values[0] if values else None}
            whole = replace(whole, **alone)
    return whole


def _of_attempts(results: Sequence[RunResult]) -> dict[str, Any]:
    """Totals and shares of clients that time out; nothing of others."""
    attempts = seen(results, "n_attempts")
    if not attempts:
        return {}
    n_attempts, n_requests = sum(attempts), sum(one.n_requests for one in results)
    return {
        "n_attempts": n_attempts,
        "n_given_up": sum(seen(results, "n_given_up")),
        "attempts_per_request": n_attempts / n_requests if n_requests else 0.0,
        "wasted_frac": float(np.mean(seen(results, "wasted_frac"))),
    }


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
    found = estimate_share([run["good"] for run in runs], like=like, level=level, whole=True)
    return replace(found, reliable=True, reason="")


def _share_of_results(results: Sequence[RunResult], level: float) -> Interval | None:
    """Share of good requests where nothing is known of single ones: Wilson's limits too."""
    shares, sizes = seen(results, "goodput_frac"), [one.n_requests for one in results]
    if not sum(sizes):
        return None
    return estimate_share_of_runs(shares, sizes, n_alike=_worth(results), level=level)


def _worth(results: Sequence[RunResult]) -> float:
    """Independent requests whose mean TTFT would spread as the means of the runs do.

    The spread of single requests is taken from percentiles, as that of a normal law (90th to 50th), which is
    narrower than that of a TTFT: so it comes out too low rather than too high.
    """
    means, middle, high = (seen(results, f"{name}_ttft_s") for name in ("mean", "p50", "p90"))
    n_requests, n_runs = sum(one.n_requests for one in results), len(results)
    if len(means) < n_runs:
        return float(n_runs)
    spread_s = (float(np.mean(high)) - float(np.mean(middle))) / _P90_OF_NORMAL
    variance = float(np.var(means, ddof=1)) / n_runs
    return float(min(max(spread_s**2 / variance, n_runs), n_requests)) if variance > 0 else float(n_runs)
