"""Where the simulator sees the share of good requests fall through 90 %; the theory has no say in it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from qtheory.system.scenario import Scenario
from validation.answer import run

from ._simulate import half, study_of
from .effort import Effort

__all__ = ["GOOD_FRAC", "LOADS", "SimulatedKnee", "knee_from", "simulate_knee"]

GOOD_FRAC = 0.9
LOADS = np.geomspace(0.06, 1.6, 40)  # of the throughput in overload
_NEAR = 0.04  # width of a step; the knee is interpolated in a bracket of at most 6 %
_TRIES = 14
_MARGIN, _MOST_GROWTH = 1.2, 40.0
_FIRST, _ROUGH = 0.75, 8  # share of the overload to begin at, with an eighth of the requests


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedKnee:
    """What was found, and from where.

    Parameters
    ----------
    rate_rps : float or None
        Requests per second; 0 if fewer than 90 % are good at all rates, None if it could not be bracketed.
    half_frac : float
        Half-width of its 95 % interval, relative.
    n_requests : int
        At each rate of the last search, all replications together.
    start_rps : float
        Where that search began: with it `knee_from` finds the same knee again.
    """

    rate_rps: float | None
    half_frac: float
    n_requests: int
    start_rps: float


def simulate_knee(
    scenario: Scenario, overload_rps: float, effort: Effort, *, sharp_frac: float
) -> SimulatedKnee:
    """Knee of a scenario: roughly first, which says where to look and how many requests that takes.

    Parameters
    ----------
    scenario : Scenario
        Its rate does not matter.
    overload_rps : float
        Its throughput in overload, > 0.
    effort : Effort
    sharp_frac : float
        Half-width of its 95 % interval that is aimed at, relative.
    """
    n, start = effort.knee_requests, _FIRST * overload_rps
    few = math.ceil(n / _ROUGH)
    rough = knee_from(scenario, overload_rps, effort, start_rps=start, n_requests=few)
    if not rough.rate_rps:
        return knee_from(scenario, overload_rps, effort, start_rps=start, n_requests=n)
    wanted = _MARGIN * few * min((rough.half_frac / sharp_frac) ** 2, _MOST_GROWTH)
    enough = min(max(math.ceil(wanted), n // 2), effort.most_requests)
    below = rough.rate_rps * (1 - _NEAR / 2)  # so that the next rate is as far above the rough knee
    return knee_from(scenario, overload_rps, effort, start_rps=below, n_requests=enough)


def knee_from(
    scenario: Scenario, overload_rps: float, effort: Effort, *, start_rps: float, n_requests: int
) -> SimulatedKnee:
    """One search, with the same random numbers at all rates.

    Parameters
    ----------
    scenario, overload_rps, effort
        As in `simulate_knee`.
    start_rps : float
        The first rate, > 0.
    n_requests : int
        At each rate, all replications together.
    """
    runs = math.ceil(n_requests / effort.n_replications)
    scenario = replace(scenario, requests=runs, seed=effort.seed)
    rate, half_frac = _searched(scenario, effort, start_rps, overload_rps)
    return SimulatedKnee(rate_rps=rate, half_frac=half_frac, n_requests=n_requests, start_rps=start_rps)


def _searched(
    scenario: Scenario, effort: Effort, start: float, overload_rps: float
) -> tuple[float | None, float]:
    study = study_of(effort)
    seen: dict[float, tuple[float, float]] = {}
    rate, step = start, _NEAR
    least, most = LOADS[0] * overload_rps, LOADS[-1] * overload_rps
    for _ in range(_TRIES):
        result = run(replace(scenario, rate_rps=rate), study=study).result
        share = result.goodput_frac or 0.0
        seen[rate] = share, half(result, "goodput_frac") * share if share else 0.0
        low = max((each for each, (good, _) in seen.items() if good >= GOOD_FRAC), default=None)
        high = min(
            (each for each, (good, _) in seen.items() if good < GOOD_FRAC and each > (low or 0)), default=None
        )
        if low is not None and high is not None:
            if high <= (1 + 1.5 * _NEAR) * low:
                return _interpolated(low, high, seen)
            rate = math.sqrt(low * high)
            continue
        if (high is not None and high <= least) or (low is not None and low >= most):
            return (0.0 if low is None else None), 0.0
        rate = min(low * (1 + step), most) if low is not None else max((high or rate) / (1 + step), least)
        step *= 2
    return None, 0.0


def _interpolated(low: float, high: float, seen: dict[float, tuple[float, float]]) -> tuple[float, float]:
    (at_low, wide), (at_high, narrow) = seen[low], seen[high]
    slope = (at_low - at_high) / (high - low)
    if slope <= 0:
        return low, math.inf
    rate = low + (at_low - GOOD_FRAC) / slope
    return rate, max(wide, narrow) / slope / rate
