"""Quantities of a point that contradict one another by more than definitions can: other units."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from qtheory.basics.errors import ConfigError

from .point import BenchPoint, Times

__all__ = ["refuse_mixed_units"]

_STRICT = 2.0  # for what holds by definition: medians beside means, rounded values
_LOOSE = 10.0  # for means of products
_IDLE = "requests failed, or other units?"
_UNITS = 30.0  # between any difference of method and the 60 or 1,000 of another unit


class _AtMost(NamedTuple):
    """The first of two quantities is not above the second, but for a factor."""

    low: str
    low_value: float | None
    high: str
    high_value: float | None
    factor: float
    why: str = "other units?"


def refuse_mixed_units(point: BenchPoint) -> None:
    """Complain in one line about times, counts and rates that do not fit together.

    Parameters
    ----------
    point : BenchPoint

    Raises
    ------
    ConfigError
        If a token takes far longer than a request, requests longer than the run, throughput is not requests
        by seconds, or what is in flight is not throughput by latency (Little's law).

    Examples
    --------
    >>> refuse_mixed_units(
    ...     BenchPoint(
    ...         where="bench.json",
    ...         tool="",
    ...         rate_rps=1.0,
    ...         n_completed=9,
    ...         prompt_tokens=100,
    ...         output_tokens=50,
    ...         ttft_s={"mean": 80.0},
    ...         e2e_s={"mean": 0.6},
    ...     )
    ... )
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: bench.json: TTFT (80 s) is far above E2E (0.6 s): other units?
    """
    if point.output_tokens < 1:  # no tokens to tell time by
        return
    for pair in _pairs(point):
        low, high = pair.low_value, pair.high_value
        if low is None or high is None or math.isnan(low) or math.isnan(high):
            continue
        if low > pair.factor * high:
            raise ConfigError(
                f"{point.where}: {pair.low} ({_shown(pair.low, low)}) is far above {pair.high} "
                f"({_shown(pair.high, high)}): {pair.why}"
            )


def _pairs(point: BenchPoint) -> Iterator[_AtMost]:
    ttft, tpot, itl, e2e = (_middle(t) for t in (point.ttft_s, point.tpot_s, point.itl_s, point.e2e_s))
    decode = None if tpot is None else tpot * max(point.output_tokens - 1, 0)
    parts = None if ttft is None or decode is None else ttft + decode
    yield _AtMost("TTFT", ttft, "E2E", e2e, _STRICT)
    yield _AtMost("all of TPOT", decode, "E2E", e2e, _LOOSE)
    yield _AtMost("E2E", e2e, "TTFT and all of TPOT", parts, _LOOSE)
    yield _AtMost("TPOT", tpot, "TTFT", ttft, _UNITS)
    yield _AtMost("ITL", itl, "TPOT", tpot, _UNITS)
    yield _AtMost("TPOT", tpot, "ITL", itl, _UNITS)
    whole = parts if e2e is None else e2e
    yield _AtMost(
        "the time of a request", ttft if whole is None else whole, "the run", point.duration_s, _STRICT
    )
    yield from _rates(point, whole)


def _rates(point: BenchPoint, whole: float | None) -> Iterator[_AtMost]:
    got, took, n = point.throughput_rps, point.duration_s, point.n_completed
    by_count = n / took if took and n else None
    yield _AtMost("requests by duration", by_count, "the throughput", got, _UNITS)
    yield _AtMost("the throughput", got, "requests by duration", by_count, _UNITS)
    if point.rate_rps is not None and math.isfinite(point.rate_rps):
        yield _AtMost("the throughput", got, "the rate at which was sent", point.rate_rps, _LOOSE)
    if got is None or whole is None or not point.in_flight:
        return
    yield _AtMost("throughput by latency", got * whole, "requests in flight", point.in_flight, _LOOSE)
    if point.rate_rps is None and n > point.in_flight:
        yield _AtMost(
            "requests in flight", point.in_flight, "throughput by latency", got * whole, _UNITS, _IDLE
        )


def _middle(times: Times) -> float | None:
    return times.get("mean", times.get("p50"))


def _shown(name: str, value: float) -> str:
    if name in ("requests by duration", "the throughput", "the rate at which was sent"):
        return f"{value:.3g} req/s"
    return f"{value:.3g}" if "flight" in name or name == "throughput by latency" else f"{value:.3g} s"
