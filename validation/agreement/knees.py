"""The knee of a cell: the largest rate at which 90 % of the requests are good, simulated and predicted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from qtheory.basics.errors import ServingError
from qtheory.predict import MODELLED_SCHEDULERS, TIERS, predict
from qtheory.system.scenario import Scenario
from validation.answer import run

from ._simulate import Asked, asked, half, study_of
from .effort import Effort

__all__ = ["GOOD_FRAC", "Knee", "find_knee"]

GOOD_FRAC = 0.9
SHARP_FRAC = 0.01  # half-width of the simulated knee that is aimed at
_LOADS = np.geomspace(0.06, 1.6, 40)  # of the throughput in overload
_CLOSE = 0.002  # relative width at which a prediction is known well enough
_NEAR = 0.04  # and a simulation, which is interpolated
_TRIES = 7
_MOST_GROWTH = 5.0
_FIRST = 0.75  # where to begin without a prediction


@dataclass(frozen=True, slots=True, kw_only=True)
class Knee:
    """What was found; a rate of 0 says that even at small loads fewer than 90 % are good.

    Parameters
    ----------
    rate_rps : float or None
        Simulated; None if it could not be bracketed.
    half_frac : float
        Half-width of its 95 % interval, relative.
    predicted_rps : dict
        By tier; left out where a tier does not answer.
    """

    rate_rps: float | None
    half_frac: float
    predicted_rps: dict[str, float] = field(default_factory=dict)

    def error(self, tier: str) -> float | None:
        """Predicted over simulated, less one; infinite if one of the two has no knee and the other has."""
        found = self.predicted_rps.get(tier)
        if found is None or self.rate_rps is None:
            return None
        if self.rate_rps == 0 or found == 0:
            return 0.0 if self.rate_rps == found else math.inf
        return found / self.rate_rps - 1


def find_knee(scenario: Scenario, overload_rps: float, effort: Effort) -> Knee:
    """Knee of a scenario: both tiers, and the simulator around what they say.

    Parameters
    ----------
    scenario : Scenario
        Its rate does not matter.
    overload_rps : float
        Its throughput in overload, > 0.
    effort : Effort
    """
    found = _found(scenario, overload_rps, effort, effort.knee_requests)
    longer = math.ceil(effort.knee_requests * min((found.half_frac / SHARP_FRAC) ** 2, _MOST_GROWTH))
    if math.isfinite(found.half_frac) and longer > effort.knee_requests:
        found = _found(scenario, overload_rps, effort, min(longer, effort.most_requests))
    return found


def _found(scenario: Scenario, overload_rps: float, effort: Effort, n_requests: int) -> Knee:
    runs = math.ceil(n_requests / effort.n_replications)
    scenario = replace(scenario, requests=runs, seed=effort.seed, rate_rps=overload_rps)
    question = asked(scenario, effort)
    predicted: dict[str, float] = {}
    if question.replica.scheduler.name in MODELLED_SCHEDULERS:
        for tier in sorted(TIERS):  # the formulas first: they say where the chain is to look
            found = _predicted(question, tier, overload_rps, predicted.get("closed"))
            if found is not None:
                predicted[tier] = found
    near = predicted.get("numeric") or predicted.get("closed") or _FIRST * overload_rps
    rate, half_frac = _simulated(scenario, effort, near, overload_rps)
    return Knee(rate_rps=rate, half_frac=half_frac, predicted_rps=predicted)


def _predicted(asked_: Asked, tier: str, overload_rps: float, near: float | None) -> float | None:
    """Largest rate with enough good requests by a tier; 0 if there is none; None if it refuses there."""

    def good(rate_rps: float) -> float | None:
        try:
            point = predict(asked_.replica, asked_.workload, rate_rps=rate_rps, tier=tier)
        except ServingError as error:
            return 0.0 if "limit" in str(error) and "no model" not in str(error) else None
        return point.goodput_frac

    if near:
        found = _between(good, 0.97 * near, 1.03 * near)
        if found is not None:
            return found
    rates = overload_rps * (_LOADS if tier == "closed" else _LOADS[::4])
    last = None
    for rate in rates:
        value = good(float(rate))
        if value is None:
            return None if last is None else _none_if_refused(good, last, float(rate))
        if value >= GOOD_FRAC:
            last = float(rate)
        elif last is not None:
            return _between(good, last, float(rate))
    return 0.0 if last is None else None


def _none_if_refused(good: Callable[[float], float | None], low: float, high: float) -> float | None:
    """The knee below rates of which the tier says nothing, if it lies there."""
    for rate in np.linspace(high, low, 5)[1:-1]:
        value = good(float(rate))
        if value is not None:
            return None if value >= GOOD_FRAC else _between(good, low, float(rate))
    return None


def _between(good: Callable[[float], float | None], low: float, high: float) -> float | None:
    """Where the share falls through 90 %: by secants that keep a bracket; None if these rates have none."""
    at_low, at_high = good(low), good(high)
    if at_low is None or at_high is None or at_low < GOOD_FRAC or at_high >= GOOD_FRAC:
        return None
    for _ in range(2 * _TRIES):
        if high - low <= _CLOSE * low:
            break
        share = (at_low - GOOD_FRAC) / (at_low - at_high)
        middle = low + min(max(share, 0.1), 0.9) * (high - low)
        value = good(middle)
        if value is None:
            return None
        if value >= GOOD_FRAC:
            low, at_low = middle, value
        else:
            high, at_high = middle, value
    share = (at_low - GOOD_FRAC) / max(at_low - at_high, 1e-12)
    return low + share * (high - low)


def _simulated(
    scenario: Scenario, effort: Effort, near: float, overload_rps: float
) -> tuple[float | None, float]:
    """The same by simulation with the same random numbers at all rates, and its relative half-width."""
    study = study_of(effort)
    seen: dict[float, tuple[float, float]] = {}
    rate, step = near, _NEAR
    least, most = _LOADS[0] * overload_rps, _LOADS[-1] * overload_rps
    for _ in range(2 * _TRIES):
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
