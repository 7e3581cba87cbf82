"""Knees by simulation: do the intervals hold the truth, and how many requests does it take?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from qtheory.basics.errors import ServingError
from qtheory.planning import knee
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload.from_scenario import workload_of
from sim.statistics._runs import t_quantile
from validation._located import Located, locate
from validation._sampled import plan_of, sample
from validation.answer import Workers
from validation.refine import Goal, Refined, refine

__all__ = ["CASES", "Case", "bisection_requests", "main", "refined", "truth_of"]

N_STUDIES, N_BISECTIONS = 100, 4
_FROM, _TO = 0.25, 2.0  # of the knee: the bracket that bisection is given
_LENGTH, _FIRST_RUNS, _MOST = 4_000, 4, 1_000_000
_TRUTH_SEED, _LONG = 1_000_003, 64_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One scenario with a name."""

    name: str
    scenario: Scenario


_SMALL = Scenario(
    hardware="rtx3050",
    prompt="lognormal(mean=300,cv=0.5)",
    output="lognormal(mean=20,cv=0.5)",
    ttft_slo_s=0.3,
)
CASES = (
    Case(name="small requests, chunked", scenario=_SMALL),
    Case(name="small requests, fcfs", scenario=replace(_SMALL, scheduler="fcfs")),
    Case(name="rag, chunked", scenario=Scenario(hardware="rtx3050", workload="rag")),
)


def refined(scenario: Scenario, precision: float = 0.01) -> Refined:
    """The knee by simulation from the closed prediction."""
    found = knee(replica_of(scenario), workload_of(scenario), tier="closed")
    slope = min(max((found.cliff_slope or 1.0) / 0.1, 1.5), 80.0)
    start = found.knee_rps or 1.0
    return refine(scenario, start_rps=start, slope=slope, goal=Goal(precision=precision))


def truth_of(scenario: Scenario, *, n_runs: int = 60) -> Located:
    """The same from long runs with random numbers of their own, whose start does not count.

    Raises
    ------
    ServingError
        If no line fits the runs.
    """
    near = refined(scenario, precision=0.02).rate_rps or 1.0
    plan = plan_of(replace(scenario, seed=_TRUTH_SEED))
    runs = [sample(plan, near * (1.02 if i % 2 else 0.98), _LONG, i) for i in range(n_runs)]
    found = locate(runs, bad_frac=0.1, slope=12.0, level=0.95)
    if found is None:
        raise ServingError("the long runs tell no knee; simulate more of them")
    return found


def bisection_requests(scenario: Scenario, near_rps: float, *, precision: float = 0.01) -> int:
    """Requests that plain bisection takes to the same precision at the same confidence.

    It is given a bracket from a quarter to twice the knee. Each middle is simulated in runs of the same
    length, four at first and then twice as many, until a t-interval says on which side it lies; the level
    is shared among the decisions. A middle that is not told apart by 1,000,000 requests is decided as it
    looks.
    """
    plan, low, high, spent, index = plan_of(scenario), _FROM * near_rps, _TO * near_rps, 0, 0
    n_decisions = math.ceil(math.log2((high - low) / (2 * precision * near_rps)))
    level = 1 - 0.05 / n_decisions
    while (high - low) / (high + low) > precision:
        middle, bad = (low + high) / 2, list[float]()
        wanted = _FIRST_RUNS
        while True:
            fresh = range(index + len(bad), index + wanted)
            bad += [sample(plan, middle, _LENGTH, i).bad_frac for i in fresh]
            half = t_quantile(level, len(bad) - 1) * float(np.std(bad, ddof=1)) / math.sqrt(len(bad))
            if abs(float(np.mean(bad)) - 0.1) > half or len(bad) * _LENGTH >= _MOST:
                break
            wanted = 2 * len(bad)
        index += len(bad)
        spent += len(bad) * _LENGTH
        low, high = (middle, high) if float(np.mean(bad)) < 0.1 else (low, middle)
    return spent


def main() -> None:
    """Print how often nominal 95 % intervals held the truth, and the requests of both ways."""
    print(f"knees within 1 %, {N_STUDIES} studies (standard error of 'held' 0.022)")
    print("case                     truth             held   half-width  requests  bisection  ratio")
    with Workers() as workers:
        for case in CASES:
            truth = truth_of(case.scenario)
            studies = [replace(case.scenario, seed=seed) for seed in range(N_STUDIES)]
            found = list(workers.map(refined, studies))
            near = [truth.rate_rps] * N_BISECTIONS
            plain = list(workers.map(bisection_requests, studies[:N_BISECTIONS], near))
            _print(case, truth, found, plain)


def _print(case: Case, truth: Located, found: list[Refined], plain: list[int]) -> None:
    rate, low, high = truth.rate_rps, truth.low_rps, truth.high_rps
    held = np.mean([(one.low_rps or 0) <= rate <= (one.high_rps or 0) for one in found])
    half = np.mean([((one.high_rps or 0) - (one.low_rps or 0)) / 2 / rate for one in found])
    spent = median(one.n_requests for one in found)
    known = f"{rate:.4g} ±{100 * (high - low) / 2 / rate:.2f} %"
    print(
        f"{case.name:<23}  {known:<16}  {held:.2f}  {100 * half:>8.2f} %  "
        f"{spent:>8,.0f}  {median(plain):>9,.0f}  {median(plain) / spent:.1f}",
        flush=True,
    )
