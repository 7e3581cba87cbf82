"""Do the intervals of a steady state hold the truth? Many studies of one point against very long runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from qtheory.system.scenario import Scenario
from validation import answer
from validation.answer import Study, Workers
from validation.answer.point import build, replicate
from validation.answer.steady import STEADY

__all__ = ["Case", "Row", "coverage", "main"]

SCENARIO = Scenario(
    hardware="rtx3050",
    prompt="lognormal(mean=300,cv=0.5)",
    output="lognormal(mean=20,cv=0.5)",
)
QUANTITIES = ("mean_ttft_s", "p99_ttft_s", "goodput_frac")
SCHEDULERS = ("chunked", "fcfs")
N_STUDIES = 200
_CUT_FRAC = 0.1  # of the runs behind the truth, which are far longer than any warm-up
_T_FIVE = 2.571  # Student's t, 5 degrees of freedom, 95 %
_TRUTH_SEED = 1_000_003


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A load, and how long its runs are.

    Parameters
    ----------
    load_frac : float
        Of the capacity, in (0, 1).
    n_requests : int
        Requests of each of the five runs of a study.
    n_long : int
        Requests of each of the six runs behind the truth.
    ttft_slo_s : float
        Limit behind goodput, seconds: one that some requests miss.
    """

    load_frac: float
    n_requests: int
    n_long: int
    ttft_slo_s: float = 0.3


CASES = (
    Case(load_frac=0.5, n_requests=4_000, n_long=200_000, ttft_slo_s=0.15),
    Case(load_frac=0.8, n_requests=8_000, n_long=300_000),
    Case(load_frac=0.95, n_requests=50_000, n_long=800_000),
)
"""At 0.95 about as long as ``--steady`` makes the runs by itself, below shorter."""


class Row(NamedTuple):
    """What the limits of one quantity did over all studies; widths relative to the truth."""

    quantity: str
    truth: float
    truth_half_width_frac: float
    coverage_frac: float
    below_frac: float
    above_frac: float
    half_width_frac: float
    unreliable_frac: float


class _Seen(NamedTuple):
    limits: dict[str, tuple[float, float]]
    unreliable: tuple[str, ...]
    is_steady: bool


def capacity_rps(scheduler: str) -> float:
    """Requests per second that leave a replica which always has work."""
    full = replace(SCENARIO, scheduler=scheduler, rate_rps=1_000.0, requests=50_000)
    return answer.run(full, study=Study(n_replications=1)).result.throughput_rps


def _study(scenario: Scenario) -> _Seen:
    result = answer.run(scenario, study=Study(steady=True)).result
    limits = {name: result.limits[name] for name in QUANTITIES}
    return _Seen(limits, result.unreliable, result.kind == STEADY)


def _long(scenario: Scenario, index: int) -> tuple[float, float, float]:
    """Mean and p99 of TTFT, and goodput, of one long run without its start."""
    study = Study(steady=True)
    series = replicate(build(scenario, study), index, study).series
    kept = slice(int(_CUT_FRAC * len(series["good"])), None)
    late_s = series["ttft_s"][kept]
    return float(late_s.mean()), float(np.quantile(late_s, 0.99)), float(series["good"][kept].mean())


def coverage(
    scheduler: str, rate_rps: float, case: Case, workers: Workers, *, n_studies: int = N_STUDIES
) -> tuple[list[Row], float]:
    """What the nominal 95 % limits of each quantity did, and the share of studies that saw a steady state.

    Parameters
    ----------
    scheduler : str
    rate_rps : float
    case : Case
    workers : Workers
        Where the studies run.
    n_studies : int
    """
    base = replace(SCENARIO, scheduler=scheduler, rate_rps=rate_rps, ttft_slo_s=case.ttft_slo_s)
    long = replace(base, requests=case.n_long, seed=_TRUTH_SEED)
    truths = np.array(list(workers.map(_long, [long] * 6, range(6))))  # (6, 3)
    short = [replace(base, requests=case.n_requests, seed=seed) for seed in range(n_studies)]
    seen = list(workers.map(_study, short))
    rows = [_row(name, truths[:, place], seen) for place, name in enumerate(QUANTITIES)]
    return rows, float(np.mean([one.is_steady for one in seen]))


def _row(name: str, truths: np.ndarray[tuple[int], np.dtype[np.float64]], seen: Sequence[_Seen]) -> Row:
    truth = float(truths.mean())
    low, high = np.array([one.limits[name] for one in seen]).T
    return Row(
        quantity=name,
        truth=truth,
        truth_half_width_frac=_T_FIVE * float(truths.std(ddof=1)) / np.sqrt(len(truths)) / truth,
        coverage_frac=float(np.mean((low <= truth) & (truth <= high))),
        below_frac=float(np.mean(high < truth)),
        above_frac=float(np.mean(low > truth)),
        half_width_frac=float(np.mean(high - low)) / 2 / truth,
        unreliable_frac=float(np.mean([name in one.unreliable for one in seen])),
    )


def _line(scheduler: str, case: Case, row: Row) -> str:
    truth = f"{row.truth:.4g} ±{100 * row.truth_half_width_frac:.1f} %"
    return (
        f"{scheduler:<9}  {case.load_frac:<4g}  {5 * case.n_requests:>8,}  {row.quantity:<12}  {truth:<15}  "
        f"{row.coverage_frac:.3f}  {row.below_frac:.3f}  {row.above_frac:.3f}  "
        f"{100 * row.half_width_frac:>8.1f} %  {row.unreliable_frac:>8.2f}"
    )


def main() -> None:
    """Print the table: how often the limits held the truth, or lay below or above it."""
    print(f"{N_STUDIES} studies of 5 runs at each load of the capacity, nominal 95 % (standard error 0.015)")
    print(
        "scheduler  load  requests  quantity      truth            held   below  above  half-width  doubtful"
    )
    with Workers() as workers:
        for scheduler in SCHEDULERS:
            capacity = capacity_rps(scheduler)
            for case in CASES:
                rows, steady_frac = coverage(scheduler, case.load_frac * capacity, case, workers)
                for row in rows:
                    print(_line(scheduler, case, row), flush=True)
                print(
                    f"{scheduler:<9}  {case.load_frac:<4g}  called a steady state: {steady_frac:.2f}",
                    flush=True,
                )
