"""Knees by simulation: do the intervals hold the truth, and how many requests does it take?

``python -m benchmarks.knees [CASE...] [--keep FILE]``: what is in the file is not simulated again, so a study
that was ended goes on where it was.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from qtheory.basics import checks
from qtheory.basics.errors import ServingError
from qtheory.planning import knee
from qtheory.system.replica import replica_of
from qtheory.system.workload.from_scenario import workload_of
from sim.statistics._runs import t_quantile
from validation._located import Located, locate
from validation._sampled import Sample, plan_of
from validation.answer import Workers
from validation.refine import Goal, Refined, refine

from .kept_answers import KeptAnswers, Row
from .knee_cases import CASES, Case
from .knee_table import HEADING, Studied, line

__all__ = ["bisection_requests", "main", "refined", "truth_of"]

_START_RPS = 0.75  # of a queue that is solved: no prediction is given
_FROM, _TO = 0.25, 2.0  # of the knee: the bracket that bisection is given
_LENGTH, _FIRST_RUNS, _MOST = 4_000, 4, 1_000_000
_TRUTH_SEED, _LONG = 1_000_003, 64_000


def refined(case: Case, precision: float, seed: int = 0) -> Refined:
    """The knee by simulation, from the closed prediction where there is one.

    Parameters
    ----------
    case : Case
    precision : float
        Half-width of its interval, relative.
    seed : int
        Of the study.
    """
    scenario, goal = case.seeded(seed), Goal(precision=precision)
    if case.solved is not None:
        return refine(scenario, start_rps=_START_RPS, goal=goal, simulate=case.simulate)
    found = knee(replica_of(scenario), workload_of(scenario), tier="closed")
    slope = min(max((found.cliff_slope or 1.0) / 0.1, 1.5), 80.0)
    return refine(scenario, start_rps=found.knee_rps or 1.0, slope=slope, goal=goal)


def truth_of(case: Case, runs: Sequence[Row]) -> Located:
    """The knee of a case: as it is solved, or by long runs, whose start does not count.

    Raises
    ------
    ServingError
        If no line fits the runs.
    """
    if case.solved is not None:
        rate = case.solved.knee_rps
        return Located(rate_rps=rate, low_rps=rate, high_rps=rate, slope=case.solved.slope)
    names = ("rate_rps", "n_requests", "bad_frac", "ahead_frac")
    samples = [
        Sample(**{name: run[name] for name in names}, n_effective=1.0, missed={}, mean_e2e_s=1.0, waits={})
        for run in runs
    ]
    found = locate(samples, bad_frac=0.1, slope=12.0, level=0.95)
    if found is None:
        raise ServingError("the long runs tell no knee; simulate more of them")
    return found


def bisection_requests(case: Case, near_rps: float, precision: float, seed: int = 0) -> int:
    """Requests that plain bisection takes to the same precision at the same confidence.

    It is given a bracket from a quarter to twice the knee. Each middle is simulated in runs of the same
    length, four at first and then twice as many, until a t-interval says on which side it lies; the level
    is shared among the decisions. A middle that is not told apart by 1,000,000 requests is decided as it
    looks.
    """
    plan, low, high, spent, index = plan_of(case.seeded(seed)), _FROM * near_rps, _TO * near_rps, 0, 0
    n_decisions = math.ceil(math.log2((high - low) / (2 * precision * near_rps)))
    level = 1 - 0.05 / n_decisions
    while (high - low) / (high + low) > precision:
        middle, bad = (low + high) / 2, list[float]()
        wanted = _FIRST_RUNS
        while True:
            fresh = range(index + len(bad), index + wanted)
            bad += [case.simulate(plan, middle, _LENGTH, i).bad_frac for i in fresh]
            half = t_quantile(level, len(bad) - 1) * float(np.std(bad, ddof=1)) / math.sqrt(len(bad))
            if abs(float(np.mean(bad)) - 0.1) > half or len(bad) * _LENGTH >= _MOST:
                break
            wanted = 2 * len(bad)
        index += len(bad)
        spent += len(bad) * _LENGTH
        low, high = (middle, high) if float(np.mean(bad)) < 0.1 else (low, middle)
    return spent


def _long_run(case: Case, near_rps: float, index: int) -> dict[str, Any]:
    rate_rps = near_rps * (1.02 if index % 2 else 0.98)
    made = case.simulate(plan_of(case.seeded(_TRUTH_SEED)), rate_rps, _LONG, index)
    return {
        "rate_rps": rate_rps,
        "n_requests": _LONG,
        "bad_frac": made.bad_frac,
        "ahead_frac": made.ahead_frac,
    }


def _study(case: Case, precision: float, seed: int) -> dict[str, Any]:
    found = refined(case, precision, seed)
    return {
        "rate_rps": found.rate_rps,
        "low_rps": found.low_rps,
        "high_rps": found.high_rps,
        "n_requests": found.n_requests,
    }


def _bisection(case: Case, near_rps: float, precision: float, seed: int) -> dict[str, Any]:
    return {"n_requests": bisection_requests(case, near_rps, precision, seed)}


def _timed(work: Callable[..., dict[str, Any]], number: int) -> dict[str, Any]:
    start = time.process_time()
    return work(number) | {"cpu_s": time.process_time() - start}


def studied(case: Case, asked: argparse.Namespace, kept: KeptAnswers, workers: Workers) -> Iterable[Studied]:
    """A case at each precision.

    Parameters
    ----------
    case : Case
    asked : argparse.Namespace
        ``precision``, ``studies``, ``bisections`` and ``long_runs``.
    kept : KeptAnswers
    workers : Workers
    """

    def many(what: str, n: int, work: Callable[..., dict[str, Any]]) -> list[Row]:
        missing = [number for number in range(n) if (case.name, what, number) not in kept]
        each = workers.map if workers.jobs > 1 else map
        for number, found in zip(missing, each(partial(_timed, work), missing), strict=True):
            kept.add((case.name, what, number), found)
        return [kept[case.name, what, number] for number in range(n)]

    long: list[Row] = []
    if case.solved is None:
        near_rps = refined(case, 0.02).rate_rps or 1.0
        long = many("long run", asked.long_runs, partial(_long_run, case, near_rps))
    truth = truth_of(case, long)
    for precision in asked.precision:
        to = f"{100 * precision:g} %"
        found = many(f"study to {to}", asked.studies, partial(_study, case, precision))
        plain = many(
            f"bisection to {to}", asked.bisections, partial(_bisection, case, truth.rate_rps, precision)
        )
        yield Studied(
            case=case.name, precision=precision, truth=truth, found=found, plain=plain, n_long=len(long)
        )


def main(words: Sequence[str] = ()) -> int:
    """Print how often intervals of 95 % held the truth, and the requests of both ways; 2 for bad input."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.knees", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)} [all]")
    parser.add_argument(
        "--precision", type=float, nargs="+", default=[0.02, 0.01], help="half-widths [0.02 0.01]"
    )
    parser.add_argument("--studies", type=int, default=100, help="of each [100]")
    parser.add_argument("--bisections", type=int, default=4, help="of each [4]")
    parser.add_argument("--long-runs", type=int, default=60, help="behind the truth [60]")
    parser.add_argument("--keep", type=Path, help="file of what was simulated, to go on with")
    parser.add_argument("--jobs", type=int, help="processes [the cores]")
    asked = parser.parse_args(words)
    try:
        for name in asked.cases:
            checks.one_of("CASE", name, tuple(CASES))
        checks.inner_fraction(**{f"precision[{i}]": each for i, each in enumerate(asked.precision)})
        checks.integer(studies=asked.studies, bisections=asked.bisections, long_runs=asked.long_runs)
        kept = KeptAnswers(asked.keep)
        print(HEADING, flush=True)
        with Workers(asked.jobs) as workers:
            for name in dict.fromkeys(asked.cases or CASES):
                for one in studied(CASES[name], asked, kept, workers):
                    print(line(one), flush=True)
    except (ServingError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
