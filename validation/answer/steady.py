"""Replications of a point put together as a steady state, if there is one, and when there are enough."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ServingError
from qtheory.system import metrics
from qtheory.system.results import LATENCIES, RunResult
from sim.statistics import (
    Interval,
    Sequential,
    Stability,
    WarmUp,
    estimate_mean,
    estimate_percentile,
    estimate_ratio,
    estimate_share,
    stability,
    warm_up,
)

from .finite import combine_finite, put_in
from .point import Replication
from .study import Study

__all__ = [
    "OVERLOADED",
    "STEADY",
    "Next",
    "combine_steady",
    "enough",
    "judge",
    "kept_values",
    "next_round",
    "steady_value",
    "warm_up_of",
]

STEADY = "steady state"
OVERLOADED = "overloaded: finite run, no steady state"
_LEAST_VALUES = 20  # of a series, for limits
_LEVELS = (50, 90, 95, 99)

Series = list[NDArray[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """Whether the replications of a point are enough.

    Parameters
    ----------
    n_more : int
        Replications to add, 0 if there are enough or more would not help.
    reached : bool
        Whether every quantity is known as well as was asked for.
    """

    n_more: int
    reached: bool


def judge(replications: Sequence[Replication]) -> Stability:
    """Verdict of most replications on the number in system at arrivals; without one it is undecided.

    A closed loop is stable: its clients are a fixed number.

    Parameters
    ----------
    replications : sequence of Replication
    """
    if math.isinf(replications[0].result.rate_rps):
        reason = "the number of clients is fixed"
        return Stability(verdict="stable", slope=None, growth_t=None, return_t=None, reason=reason)
    found = [_judge_one(one) for one in replications]
    counts = Counter(one.verdict for one in found)
    verdict, n_most = counts.most_common(1)[0]
    if 2 * n_most > len(found):
        return next(one for one in found if one.verdict == verdict)
    split = ", ".join(f"{n} {word}" for word, n in sorted(counts.items()))
    reason = f"the runs disagree ({split}): run longer"
    return Stability(verdict="undecided", slope=None, growth_t=None, return_t=None, reason=reason)


def _judge_one(one: Replication) -> Stability:
    arrival_s, in_system = one.series["arrival_s"], one.series["in_system"]
    if len(arrival_s) < 2 or arrival_s[0] == arrival_s[-1]:
        reason = f"{len(arrival_s)} requests at one moment"
        return Stability(verdict="undecided", slope=None, growth_t=None, return_t=None, reason=reason)
    return stability(arrival_s, in_system)


def warm_up_of(replications: Sequence[Replication]) -> WarmUp:
    """From the number in system, or of a closed loop, which has no arrivals to see it at, from TTFT."""
    if math.isinf(replications[0].result.rate_rps):
        late = [one.series["ttft_s"] for one in replications]
        return warm_up([run[~np.isnan(run)] for run in late])
    return warm_up([one.series["in_system"] for one in replications])


def combine_steady(replications: Sequence[Replication], level: float) -> RunResult:
    """Numbers of the steady state, the warm-up left out; of a finite run where there is no such state.

    Latencies, goodput, throughput and output rate are those of the requests behind the warm-up. What is said
    of tokens and of the engine (ITL, MFU, MBU, busy time, occupancy, counts) is of whole runs.

    Parameters
    ----------
    replications : sequence of Replication
        At least one.
    level : float
        Of the limits, in (0, 1).
    """
    whole = combine_finite(replications, level)
    if any(one.result.n_requests == 0 for one in replications):
        return replace(whole, kind="undecided: a run has no requests")
    seen = judge(replications)
    if seen.verdict == "overloaded":
        return replace(whole, kind=OVERLOADED)
    start = warm_up_of(replications)
    result = replace(whole, n_warm_up_requests=start.n_cut)
    for name in LATENCIES:
        if name != "itl":
            result = _latency(result, name, kept_values(replications, f"{name}_s", start.n_cut), level)
    result = put_in(result, "goodput_frac", _share(replications, start.n_cut, level))
    rates = {"goodput_rps": "good", "throughput_rps": "served", "output_tps": "tokens"}
    for name, counted in rates.items():
        result = _rate(result, name, [_flow(one, counted, start.n_cut) for one in replications], level)
    doubt = seen.reason if seen.verdict != "stable" else start.reason
    return replace(result, kind=f"undecided: {doubt}" if doubt and _doubtful(seen, start) else STEADY)


def _doubtful(seen: Stability, start: WarmUp) -> bool:
    return seen.verdict != "stable" or start.too_short


def kept_values(replications: Sequence[Replication], name: str, n_cut: int) -> Series:
    """A column of each run behind the warm-up, without requests that have no value."""
    columns = [one.series[name][n_cut:] for one in replications]
    return [column[~np.isnan(column)] for column in columns]


def enough(runs: Series) -> bool:
    """Whether there are values for limits: some in each run, 20 in all."""
    return all(map(len, runs)) and sum(map(len, runs)) >= _LEAST_VALUES


def _latency(result: RunResult, name: str, runs: Series, level: float) -> RunResult:
    """Mean and percentiles of one latency; without limits where there are too few values."""
    pool = np.concatenate(runs)
    ways: dict[str, tuple[Callable[[], Interval], float | None]] = {
        f"mean_{name}_s": (
            lambda: estimate_mean(runs, level=level),
            float(pool.mean()) if len(pool) else None,
        )
    }
    for q in _LEVELS:
        ways[f"p{q}_{name}_s"] = (
            lambda q=q: estimate_percentile(runs, q, level=level),  # type: ignore[misc]
            metrics.percentile(pool, q),
        )
    for field, (estimate, plain) in ways.items():
        result = put_in(result, field, estimate()) if enough(runs) else _without(result, field, plain)
    return result


def _without(result: RunResult, name: str, value: float | None) -> RunResult:
    """The result with a value that has no limits."""
    changed: dict[str, Any] = {
        name: value,
        "limits": {key: limits for key, limits in result.limits.items() if key != name},
    }
    return replace(result, **changed)


def _share(replications: Sequence[Replication], n_cut: int, level: float) -> Interval | None:
    runs = [one.series["good"][n_cut:] for one in replications]
    like = kept_values(replications, "ttft_s", n_cut)
    try:
        return estimate_share(runs, like=like if enough(like) else None, level=level)
    except ServingError:  # one run of a handful of requests: no limits
        return None


def _flow(one: Replication, name: str, n_cut: int) -> tuple[float, float]:
    """How much of the requests behind the warm-up counts, and the seconds in which they were sent."""
    sent_s = one.series["sent_s"][n_cut:]
    return float(one.series[name][n_cut:-1].sum()), float(sent_s[-1] - sent_s[0]) if len(sent_s) else 0.0


def _rate(result: RunResult, name: str, flows: list[tuple[float, float]], level: float) -> RunResult:
    amounts, spans_s = (list(part) for part in zip(*flows, strict=True))
    if min(spans_s) <= 0:
        return result
    try:
        return put_in(result, name, estimate_ratio(amounts, spans_s, level=level))
    except ServingError:  # one run, or a few whose spans differ too much: no limits
        return _without(result, name, sum(amounts) / sum(spans_s))


def steady_value(one: Replication, name: str, n_cut: int) -> float | None:
    """A quantity that is compared, of one replication behind the warm-up.

    Parameters
    ----------
    one : Replication
    name : str
        ``goodput_frac``, or a mean or percentile as in ``p99_ttft_s``.
    n_cut : int
        Requests to leave out.
    """
    if name == "goodput_frac":
        good = one.series["good"][n_cut:]
        return float(good.mean()) if len(good) else None
    statistic, _, column = name.partition("_")
    values = kept_values([one], column, n_cut)[0]
    if statistic == "mean":
        return float(values.mean()) if len(values) else None
    return metrics.percentile(values, float(statistic.removeprefix("p")))


def next_round(replications: Sequence[Replication], study: Study) -> Next:
    """Whether mean TTFT and goodput are known to the precision asked for, or how many runs to add.

    Parameters
    ----------
    replications : sequence of Replication
        At least two.
    study : Study
        With a precision.
    """
    rule = Sequential(
        precision=study.precision or 1.0,
        level=study.level,
        min_replications=2,
        max_requests=study.max_requests,
    )
    seen, n_cut = judge(replications), warm_up_of(replications).n_cut
    n_requests = sum(one.result.n_requests for one in replications)
    decisions = []
    for name in ("mean_ttft_s", "goodput_frac"):
        values = [value for one in replications if (value := steady_value(one, name, n_cut)) is not None]
        if len(values) == len(replications):
            decisions.append(rule.decide(values, n_requests=n_requests, stability=seen))
    return Next(
        n_more=max((one.n_more for one in decisions), default=0),
        reached=bool(decisions) and all(one.reached for one in decisions),
    )
