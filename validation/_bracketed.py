"""Short runs that say about where the knee is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from qtheory.basics.errors import ConfigError

from ._sampled import Sample

__all__ = ["Near", "NoKneeError", "bracketed"]

Runner = Callable[[Sequence[float], int], list[Sample]]
_SHORT = 2_000  # requests of a run
_N_RUNS = 2
_CLOSE = 1.15  # ratio of two rates between which the share of late requests is a straight line
_STEP_PREDICTED, _STEP_BLIND, _GROWTH = 1.08, 2.0, 1.6
_MOST = 40
_RANGE = 1e4  # how far from the start it is looked
_STEEPEST, _FLATTEST, _USUAL = 80.0, 1.5, 12.0


class NoKneeError(ConfigError):
    """The share of good requests is large enough at every rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """A rate close to the knee, and how steep the logarithm of the share of late requests is there."""

    rate_rps: float
    slope: float


def bracketed(run: Runner, *, start_rps: float, slope: float | None, bad_frac: float) -> Near | None:
    """A rate near that at which a share of the requests is late.

    Parameters
    ----------
    run : callable (rates, n_requests) -> list of Sample
    start_rps : float
        Where to begin.
    slope : float, optional
        As predicted; without it the start is taken to be any rate.
    bad_frac : float
        The share.

    Returns
    -------
    Near or None
        None if the share is larger at every rate.

    Raises
    ------
    NoKneeError
        If it is smaller at every rate.
    """
    seen: dict[float, float] = {}
    step = _STEP_BLIND if slope is None else _STEP_PREDICTED
    rate = start_rps
    while len(seen) < _MOST and start_rps / _RANGE < rate < start_rps * _RANGE:
        seen[rate] = fmean(one.bad_frac for one in run([rate] * _N_RUNS, _SHORT))
        if slope is not None and len(seen) == 1 and bad_frac / 6 < seen[rate] < min(4 * bad_frac, 0.7):
            off = math.log(bad_frac / seen[rate]) / slope
            return Near(rate_rps=rate * math.exp(min(max(off, -0.1), 0.1)), slope=slope)
        high = min((each for each, bad in seen.items() if bad >= bad_frac), default=None)
        low = max(
            (each for each, bad in seen.items() if bad < bad_frac and each < (high or math.inf)), default=None
        )
        if low is None or high is None:
            rate = rate * step if high is None else rate / step
            step **= _GROWTH if step < 4 else 1.0
            continue
        found = _between(low, high, seen, bad_frac)
        if high / low <= _CLOSE:
            return Near(rate_rps=found.rate_rps, slope=slope or found.slope)
        rate = min(max(found.rate_rps, low * (high / low) ** 0.2), low * (high / low) ** 0.8)
    if all(bad >= bad_frac for bad in seen.values()):
        return None
    raise NoKneeError(
        f"goodput_frac: {1 - bad_frac:g} is reached up to {max(seen):.4g} req/s: no rate is too high; "
        "give tighter limits, such as --ttft-slo-s 1"
    )


def _between(low: float, high: float, seen: dict[float, float], bad_frac: float) -> Near:
    """A straight line in logarithms; no late request at all counts as a third of one."""
    least = 1 / (3 * _N_RUNS * _SHORT)
    at_low, at_high = (math.log(max(seen[rate], least)) for rate in (low, high))
    slope = (at_high - at_low) / math.log(high / low)
    share = (math.log(bad_frac) - at_low) / (at_high - at_low) if at_high > at_low else 0.5
    return Near(
        rate_rps=low * (high / low) ** min(max(share, 0.0), 1.0),
        slope=min(max(slope, _FLATTEST), _STEEPEST) if at_high > at_low else _USUAL,
    )
