"""Predictions: milliseconds a point of both tiers, and of a knee, beside a simulation; seconds of a plan."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from qtheory.basics.errors import ServingError
from qtheory.planning import knee
from qtheory.planning.fleet import TheoryAnswer, plan_fleet
from qtheory.planning.fleet_candidates import Choices, candidates_of
from qtheory.planning.fleet_load import load_of
from qtheory.planning.fleet_size import Need
from qtheory.planning.prices import prices_of
from qtheory.predict import MODELLED_SCHEDULERS, limit_rps, predict, sweep
from qtheory.system.hardware import find_hardware
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload.from_scenario import workload_of
from validation.answer import Study, run

__all__ = ["main", "milliseconds"]

_BASE = Scenario(hardware="a100", model="llama-3.1-8b", workload="chat")
_BURSTY = "gamma(cv=2)"
_LOADS = (0.5, 0.8, 0.95)
_N_POINTS, _N_REQUESTS = 40, 20_000
_PLANNED = Choices(
    hardware=("a100", "h100", "a10g", "l4", "l40s"),
    tps=(1, 2),
    weights=("bf16", "fp8"),
    schedulers=("fcfs", "chunked", "slo", "sjf", "static"),
    budgets=(512, 2_048, 8_192),
)
_PLANNED_RPS = 40.0


def milliseconds(work: Callable[[], object], *, times: int = 3) -> float:
    """CPU time of the fastest of a few tries."""
    spent = []
    for _ in range(times):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return 1000 * min(spent)


def main() -> None:
    """Print a line a scheduler; ratios are of the CPU time of one run."""
    print("ms of CPU a point: closed (of 40 at once), numeric at three loads; seconds of a knee;")
    print(f"ratio: {_N_REQUESTS:,} simulated requests at a load of 0.8 over the numeric tier there")
    print("scheduler      arrivals       closed   0.5   0.8  0.95   knee  ratio")
    cases = [replace(_BASE, scheduler=name) for name in MODELLED_SCHEDULERS]
    cases += [replace(_BASE, scheduler=name, arrivals=_BURSTY) for name in ("fcfs", "chunked")]
    for scenario in cases:
        print(_line(scenario), flush=True)
    print(_plan_line())


def _plan_line() -> str:
    """Seconds of CPU of the cheapest fleet, candidates one after the other."""
    scenario = replace(_BASE, rate_rps=_PLANNED_RPS)
    prices = prices_of([find_hardware(name) for name in _PLANNED.hardware])
    candidates, load = candidates_of(scenario, _PLANNED, prices), load_of(workload_of(scenario))
    need = Need(rate_rps=_PLANNED_RPS)
    numeric = TheoryAnswer(goodput_frac=need.goodput_frac, tier="numeric")
    closed_s = milliseconds(lambda: plan_fleet(candidates, load, need), times=1) / 1000
    whole_s = milliseconds(lambda: plan_fleet(candidates, load, need, better=numeric), times=1) / 1000
    return f"plan of {len(candidates)} candidates: {whole_s:.1f} s of CPU, {closed_s:.1f} s by formulas alone"


def _line(scenario: Scenario) -> str:
    replica, workload = replica_of(scenario), workload_of(scenario)
    limit = limit_rps(replica, workload)
    rates = np.linspace(0.05, 0.8, _N_POINTS) * limit
    closed = milliseconds(lambda: sweep(replica, workload, rates.tolist())) / _N_POINTS
    numeric = [_answered(partial(predict, replica, workload, rate_rps=load * limit)) for load in _LOADS]
    whole = _answered(lambda: knee(replica, workload))
    shown = " ".join("    -" if each is None else f"{each:>5.0f}" for each in numeric)
    shown += "      -" if whole is None else f" {whole / 1000:>6.2f}"
    ratio = "-"
    if scenario.scheduler != "disaggregated" and numeric[1]:  # pools visit every step: minutes
        at = replace(scenario, rate_rps=_LOADS[1] * limit, requests=_N_REQUESTS)
        ratio = f"{milliseconds(lambda: run(at, study=Study(n_replications=1)), times=1) / numeric[1]:.0f}"
    return f"{scenario.scheduler:<13}  {scenario.arrivals:<12}  {closed:>6.2f} {shown}  {ratio:>5}"


def _answered(work: Callable[[], object]) -> float | None:
    """Milliseconds of an answer; None where there is none."""
    try:
        return milliseconds(work, times=2)
    except ServingError:
        return None
