"""Predictions: milliseconds a point of both tiers, and of a knee, beside a simulation."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from qtheory.basics.errors import ServingError
from qtheory.planning import knee
from qtheory.predict import MODELLED_SCHEDULERS, limit_rps, predict, sweep
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload.from_scenario import workload_of
from validation.answer import Study, run

__all__ = ["main", "milliseconds"]

_BASE = Scenario(hardware="a100", model="llama-3.1-8b", workload="chat")
_BURSTY = "gamma(cv=2)"
_LOADS = (0.5, 0.8, 0.95)
_N_POINTS, _N_REQUESTS = 40, 20_000


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


def _line(scenario: Scenario) -> str:
    replica, workload = replica_of(scenario), workload_of(scenario)
    limit = limit_rps(replica, workload)
    rates = np.linspace(0.05, 0.8, _N_POINTS) * limit
    closed = milliseconds(lambda: sweep(replica, workload, rates.tolist())) / _N_POINTS
    numeric = [
        _answered(lambda load=load: predict(replica, workload, rate_rps=load * limit)) for load in _LOADS
    ]
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
