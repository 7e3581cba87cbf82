"""The marks of a scheduler's goodput curve by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from statistics import fmean

import numpy as np

from qtheory.planning import Knee, Search
from qtheory.planning.knee_interval import INTERVAL, NO_INTERVAL
from qtheory.system.scenario import Scenario
from validation._sampled import Plan, Sample, plan_of, sample
from validation.refine import Goal, Refined, refine

__all__ = ["refined", "simulated_knee"]

Progress = Callable[[int, int], None]
_AROUND = (0.5, 0.7, 0.82, 0.92, 1.0, 1.08, 1.2, 1.4)  # of the knee
_LENGTH, _N_RUNS = 4_000, 2
_NEAR = 0.03
_LEAST_WAIT = 0.005  # share of the time in which somebody waits, to speak of


def refined(
    predicted: Knee,
    scenario: Scenario,
    *,
    goal: Goal,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Knee:
    """A predicted knee, simulated from there on; the other marks stay those of the prediction.

    Parameters
    ----------
    predicted : Knee
    scenario : Scenario
    goal : Goal
    executor, progress
        As in `validation.refine.refine`.

    Raises
    ------
    ServingError
        As `validation.refine.refine`.
    """
    bad = 1 - predicted.goodput_frac
    slope = None if predicted.cliff_slope is None else min(max(predicted.cliff_slope / bad, 1.5), 80.0)
    start = predicted.knee_rps or predicted.power_rps or 0.5 * (predicted.limit_rps or 2.0)
    found = refine(scenario, start_rps=start, slope=slope, goal=goal, executor=executor, progress=progress)
    near = _close_to(found)
    return replace(
        predicted,
        answered_by="simulation from " + predicted.answered_by,
        predicted_rps=predicted.knee_rps,
        knee_rps=found.rate_rps,
        knee_rps_low=found.low_rps,
        knee_rps_high=found.high_rps,
        fails=_fails(near) or predicted.fails,
        n_requests=found.n_requests,
        notes=(
            *_apart_from_intervals(predicted.notes),
            *_slow(found.samples),
            *([found.note] if found.note else []),
        ),
    )


def _slow(samples: Sequence[Sample]) -> list[str]:
    """Why runs took long, if they went step by step."""
    reason = next((one.stepwise for one in samples if one.stepwise is not None), None)
    return [] if reason is None else [f"slow: runs step by step: {reason}"]


def _apart_from_intervals(notes: Sequence[str]) -> list[str]:
    """Notes of a prediction that hold of the simulation too."""
    return [note for note in notes if not note.startswith((INTERVAL, NO_INTERVAL))]


def simulated_knee(
    scenario: Scenario,
    *,
    start_rps: float,
    slope: float | None,
    goal: Goal,
    why: str,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Knee:
    """The knee by simulation alone, and the other marks from some short runs around it.

    Parameters
    ----------
    scenario : Scenario
    start_rps : float
        Where to begin.
    slope : float or None
        As in `validation.refine.refine`.
    goal : Goal
    why : str
        Why there is no prediction.
    executor, progress
        As in `validation.refine.refine`.

    Raises
    ------
    ServingError
        As `validation.refine.refine`.
    """
    found = refine(
        scenario, start_rps=start_rps, slope=slope, goal=goal, executor=executor, progress=progress
    )
    plan = plan_of(scenario)
    around = list(found.samples)
    if found.rate_rps is not None and plan.n_random != 1:
        rates = [share * found.rate_rps for share in _AROUND for _ in range(_N_RUNS)]
        around = _more(plan, rates, len(found.samples), executor)
    near = _close_to(found)
    base = Knee(
        scheduler=scenario.scheduler,
        answered_by="simulation",
        goodput_frac=goal.goodput_frac,
        knee_rps=found.rate_rps,
        knee_rps_low=found.low_rps,
        knee_rps_high=found.high_rps,
        fails=_fails(near or around),
        binds=_binds(near or around),
        n_requests=found.n_requests + sum(one.n_requests for one in around if one not in found.samples),
        curve=_curve(around),
        cliff_slope=None if found.slope is None else found.slope * (1 - goal.goodput_frac),
        notes=tuple(text for text in (f"simulated: {why}", _kind(plan), *_slow(around), found.note) if text),
    )
    return _with_marks(base, around)


def _kind(plan: Plan) -> str:
    is_finite = not plan.is_steady and plan.n_random != 1
    return "finite runs of the length that was given: no steady state is claimed" if is_finite else ""


def _more(plan: Plan, rates: list[float], first: int, executor: Executor | None) -> list[Sample]:
    tasks = [(plan, rate, _LENGTH, first + i) for i, rate in enumerate(rates)]
    if executor is None:
        return [sample(*task) for task in tasks]
    return list(executor.map(sample, *zip(*tasks, strict=True)))


def _close_to(found: Refined) -> list[Sample]:
    if found.rate_rps is None:
        return []
    return [one for one in found.samples if abs(one.rate_rps / found.rate_rps - 1) < _NEAR]


def _fails(samples: Sequence[Sample]) -> str | None:
    if not samples or not samples[0].missed:
        return None
    shares = {word: fmean(one.missed[word] for one in samples) for word in samples[0].missed}
    return max(shares, key=shares.__getitem__)


def _binds(samples: Sequence[Sample]) -> str | None:
    if not samples:
        return None
    shares = {word: fmean(one.waits[word] for one in samples) for word in samples[0].waits}
    most = max(shares, key=shares.__getitem__)
    return most if shares[most] >= _LEAST_WAIT else None


def _curve(samples: Sequence[Sample]) -> tuple[tuple[float, float, float | None, float | None], ...]:
    """Goodput at each rate, with rough limits: two standard errors of as many independent requests."""
    points = []
    for rate in sorted({one.rate_rps for one in samples}):
        runs = [one for one in samples if one.rate_rps == rate]
        bad = fmean(one.bad_frac for one in runs)
        worth = sum(min(one.n_effective, one.n_requests) for one in runs)
        half = 2 * math.sqrt(max(bad * (1 - bad), 0.25 / worth) / worth)
        points.append((rate, 1 - bad, max(1 - bad - half, 0.0), min(1 - bad + half, 1.0)))
    return tuple(points)


def _with_marks(base: Knee, samples: Sequence[Sample]) -> Knee:
    """The other marks, read off straight lines between the simulated rates."""
    if len(base.curve) < 2:
        return base
    rates, good = [point[0] for point in base.curve], [point[1] for point in base.curve]
    search = Search(lambda rate: math.nan, guide=(rates, good))
    strict, half = (search.crossing(share, most=0) for share in (0.99, 0.5))
    strict, half = (None if mark is not None and mark >= rates[-1] else mark for mark in (strict, half))
    peak_rate, peak = search.peak(most=0)
    wide = None if not base.knee_rps or strict is None or half is None else (half - strict) / base.knee_rps
    return replace(
        base,
        strict_rps=strict,
        half_rps=half,
        peak_goodput_rps=peak if peak_rate < rates[-1] else None,
        peak_rate_rps=peak_rate if peak_rate < rates[-1] else None,
        power_rps=_power(samples),
        cliff_width_frac=wide,
    )


def _power(samples: Sequence[Sample]) -> float | None:
    """Rate of the largest rate over mean response; None where that is at an end of what was simulated."""
    rates = np.array(sorted({one.rate_rps for one in samples}))
    response = np.array(
        [np.mean([one.mean_e2e_s for one in samples if one.rate_rps == rate]) for rate in rates]
    )
    if len(rates) < 3 or not np.all(np.isfinite(response)):
        return None
    fine = np.linspace(rates[0], rates[-1], 500)
    power = fine / np.exp(np.interp(fine, rates, np.log(response)))
    best = int(power.argmax())
    return float(fine[best]) if 0 < best < len(fine) - 1 else None
