"""Where the simulator sees the share of good requests fall through 90 %; the theory has no say in it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import fmean, stdev

import numpy as np

from qtheory.basics.errors import ConvergenceError
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload.from_scenario import workload_of
from validation.refine import Goal, NoKneeError, Plan, Refined, refine, sample

from ._work import work_of
from .capacity import Overload
from .effort import Effort

__all__ = ["GOOD_FRAC", "LOADS", "METHOD", "SimulatedKnee", "simulate_knee"]

GOOD_FRAC = 0.9
LOADS = np.geomspace(0.06, 1.6, 40)  # of the throughput in overload
METHOD = 3
"""Raised when the same simulator is searched in another way: 1 was bisection with common random numbers,
2 runs on both sides with a slope that their middles, which follow chance, had a part in (intervals a tenth
too narrow)."""
_FIRST = 0.75  # share of the overload to begin at
_LIGHT_REQUESTS, _LIGHT_RUNS, _MOST_RUNS = 2_000, 8, 64  # at the least rate
_CERTAIN = 4.0  # standard errors
_GOOD_ABOVE = ("sjf",)  # serves short requests in time while a queue of long ones grows without end
_ENOUGH = 20  # runs for an interval, where requests were used up before it was narrow enough
_ROUGH, _NEARLY, _LONG = 0.05, 0.97, 60_000  # requests of a run


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedKnee:
    """What was found.

    Parameters
    ----------
    rate_rps : float or None
        Requests per second; 0 if fewer than 90 % are good at all rates, None if that or the place could not
        be told.
    half_frac : float
        Half-width of its 95 % interval, relative.
    n_requests : int
        Simulated in all; by the first method, at each rate of its last search, all replications together.
    method : int
        By which it was found: `METHOD`, or an older one.
    """

    rate_rps: float | None
    half_frac: float
    n_requests: int
    method: int = METHOD

    @property
    def is_of_law(self) -> bool:
        """Whether it is that of the law of the lengths; by bisection it is that of the lengths drawn."""
        return self.method > 1


def simulate_knee(
    scenario: Scenario, overload: Overload, effort: Effort, *, sharp_frac: float
) -> SimulatedKnee:
    """Knee of a scenario, by runs on both sides of it until its interval is narrow enough.

    The estimate is that of `validation.refine.refine`, from a share of the overload and with no prediction.

    Parameters
    ----------
    scenario : Scenario
        Its rate does not matter.
    overload : Overload
        Its throughput in overload; three digits of it say where to look.
    effort : Effort
    sharp_frac : float
        Half-width of its 95 % interval that is aimed at, relative.
    """
    plan = _plan(replace(scenario, seed=effort.seed))
    least, start, most = (
        float(f"{share * overload.rate_rps:.3g}") for share in (float(LOADS[0]), _FIRST, float(LOADS[-1]))
    )
    is_good, n_light = _at_least_rate(plan, least)
    if not is_good:
        return SimulatedKnee(
            rate_rps=None if is_good is None else 0.0,
            half_frac=math.inf if is_good is None else 0.0,
            n_requests=n_light,
        )
    left = max(effort.knee_requests - n_light, 1)
    goal = Goal(goodput_frac=GOOD_FRAC, precision=sharp_frac, max_requests=left)
    nothing = SimulatedKnee(rate_rps=None, half_frac=math.inf, n_requests=n_light)
    try:
        found = _refined(plan, start, goal, overload.limit_rps)
    except (ConvergenceError, NoKneeError):  # no place fits the runs, or no rate is too high
        return nothing
    nothing = replace(nothing, n_requests=n_light + found.n_requests)
    if found.rate_rps is None or found.low_rps is None or found.high_rps is None or found.rate_rps > most:
        return nothing
    half_frac = (found.high_rps - found.low_rps) / 2 / found.rate_rps
    if not found.reached and _n_of_last_length(found) < _ENOUGH:
        half_frac = math.inf
    return replace(nothing, rate_rps=found.rate_rps, half_frac=half_frac)


def _n_of_last_length(found: Refined) -> int:
    return sum(one.n_requests == found.samples[-1].n_requests for one in found.samples)


def _refined(plan: Plan, start_rps: float, goal: Goal, limit_rps: float) -> Refined:
    """The knee; by long runs where it may be above the limit, for there the share settles slowly."""
    if plan.scenario.scheduler not in _GOOD_ABOVE:
        return refine(plan.scenario, start_rps=start_rps, goal=goal, plan=plan)
    rough = refine(plan.scenario, start_rps=start_rps, goal=replace(goal, precision=_ROUGH), plan=plan)
    if rough.rate_rps is None:
        return rough
    is_above = rough.rate_rps > _NEARLY * limit_rps
    goal = replace(goal, run_requests=_LONG if is_above else None)
    found = refine(plan.scenario, start_rps=rough.rate_rps, slope=rough.slope, goal=goal, plan=plan)
    return replace(found, n_requests=rough.n_requests + found.n_requests)


def _at_least_rate(plan: Plan, rate_rps: float) -> tuple[bool | None, int]:
    """Whether 90 % are good at the least rate, None if that is too close to tell; and what was simulated."""
    bad: list[float] = []
    n_runs = _LIGHT_RUNS
    while True:
        bad += [sample(plan, rate_rps, _LIGHT_REQUESTS, i).bad_frac for i in range(len(bad), n_runs)]
        off, error = fmean(bad) - (1 - GOOD_FRAC), stdev(bad) / math.sqrt(len(bad))
        if abs(off) > _CERTAIN * error:
            return off < 0, n_runs * _LIGHT_REQUESTS
        if n_runs >= _MOST_RUNS:
            return None, n_runs * _LIGHT_REQUESTS
        n_runs *= 2


def _plan(scenario: Scenario) -> Plan:
    spec, workload = replica_of(scenario), workload_of(replace(scenario, requests=1))
    return Plan(scenario=scenario, is_steady=True, work=work_of(spec, workload))
