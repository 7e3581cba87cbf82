"""Predictions over time against the simulator, on systems and profiles drawn by a seed.

``python -m validation.over_time 0 14`` measures the first fourteen: rows of the table in docs/predictions.md.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from qtheory.predict import OverTime, limit_rps, predict_over_time
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload import DayArrivals, ProfileArrivals, workload_of
from sim.summary import columns
from validation.answer import Study, run

__all__ = ["ComparedOverTime", "compared", "drawn"]

Floats = NDArray[np.float64]

_SEED, _PARTS = 900, 12
_SYSTEMS = (
    ("a100", "llama-3.1-8b"),
    ("h100", "llama-3.1-8b"),
    ("l40s", "llama-3.1-8b"),
    ("l4", "llama-3.2-1b"),
)
_WORKLOADS, _SCHEDULERS, _LENGTHS_S = ("chat", "rag", "code"), ("fcfs", "chunked"), (900.0, 3600.0)
_REQUESTS, _FEWEST, _MOST = 60_000, 8, 40  # in all; runs


def drawn(index: int) -> Scenario:
    """The scenario with a number: system, workload, scheduler, a sine or six steps, and its highest load.

    Parameters
    ----------
    index : int
        >= 0.
    """
    rng = np.random.default_rng(_SEED + index)
    hardware, model = _SYSTEMS[rng.integers(4)]
    workload, scheduler = _WORKLOADS[rng.integers(3)], _SCHEDULERS[rng.integers(2)]
    seconds, peak = _LENGTHS_S[rng.integers(2)], rng.uniform(0.75, 1.35)
    base = Scenario(hardware=hardware, model=model, workload=workload, scheduler=scheduler)
    limit = limit_rps(replica_of(base), workload_of(base))
    if rng.random() < 0.5:
        over_mean = round(rng.uniform(1.3, 2.0), 2)
        arrivals, mean = f"day(peak_to_mean={over_mean},period_s={seconds:g})", 1 / over_mean
    else:
        steps = np.round(rng.uniform(0.2, 1.0, 6), 2)
        steps = np.round(steps / steps.max(), 2)
        lengths = ",".join([f"{seconds / 6:g}"] * 6)
        arrivals = f"profile(rates=[{','.join(map(str, steps))}],lengths_s=[{lengths}])"
        mean = float(steps.mean())
    rate = round(peak * limit * mean, 3)
    return replace(base, arrivals=arrivals, rate_rps=rate, duration_s=seconds, seed=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedOverTime:
    """A prediction and what several runs showed.

    Parameters
    ----------
    scenario : Scenario
    predicted : OverTime
    mean_ttft_s, p99_ttft_s : float
        Simulated, of all requests of all runs.
    mean_ttft_error_s : float
        Standard error of the first, over runs.
    parts : array of float, shape (runs, parts, 2)
        Share of good requests of each part, and requests without a first token at its end.
    goodput_frac : array of float, shape (runs,)
        Share of good requests.
    """

    scenario: Scenario
    predicted: OverTime
    mean_ttft_s: float
    mean_ttft_error_s: float
    p99_ttft_s: float
    parts: Floats
    goodput_frac: Floats

    @property
    def _highest_rps(self) -> float:
        arrivals, mean = workload_of(self.scenario).arrivals, self.scenario.rate_rps or 0.0
        if isinstance(arrivals, DayArrivals):
            return mean * arrivals.peak_to_mean
        return (
            mean * max(arrivals.rates) / arrivals.own_rate_rps
            if isinstance(arrivals, ProfileArrivals)
            else mean
        )

    def row(self) -> str:
        """The row of the table."""
        seen, n = self.parts.mean(axis=0), len(self.parts)
        error = self.parts.std(axis=0, ddof=1) / np.sqrt(n)
        told = np.array([(one.goodput_frac, one.end_waiting) for one in self.predicted.stretches])
        good, most = 100 * np.abs(told[:, 0] - seen[:, 0]), int(seen[:, 1].argmax())
        worst, scenario = int(good.argmax()), self.scenario
        waiting = np.abs(told[:, 1] - seen[:, 1]).max() / max(seen[most, 1], 1.0)
        off = 100 * (self.predicted.mean_ttft_s / self.mean_ttft_s - 1)
        share, share_error = self.goodput_frac.mean(), self.goodput_frac.std(ddof=1) / np.sqrt(n)
        cells = (
            ", ".join((scenario.hardware, str(scenario.model), scenario.workload, scenario.scheduler)),
            f"{'sine' if scenario.arrivals.startswith('day') else 'steps'}, {scenario.duration_s:g}",
            f"{self._highest_rps / self.predicted.limit_rps:.2f}",
            f"{100 * share:.1f} ± {100 * share_error:.1f} / {100 * self.predicted.goodput_frac:.1f}",
            f"{off:+.0f} % ({100 * self.mean_ttft_error_s / self.mean_ttft_s:.0f})",
            f"{self.p99_ttft_s:.3g} / {self.predicted.p99_ttft_s:.3g}",
            f"{seen[most, 1]:.3g} ± {error[most, 1]:.2g} / {told[:, 1].max():.3g}",
            f"{good.mean():.1f}, {good[worst]:.0f} ({100 * error[worst, 0]:.0f})",
            f"{100 * waiting:.0f} %",
        )
        return f"| {' | '.join(cells)} |"


def compared(scenario: Scenario, *, n_runs: int | None = None, tier: str = "numeric") -> ComparedOverTime:
    """Predict and simulate a scenario whose rate changes.

    Parameters
    ----------
    scenario : Scenario
        With a duration and a rate.
    n_runs : int, optional
        At least 2 (default: 8 to 40, for some 60,000 requests).
    tier : str
        Of the prediction.
    """
    seconds, rate = scenario.duration_s or 1.0, scenario.rate_rps or 1.0
    runs = n_runs or int(np.clip(_REQUESTS / (rate * seconds), _FEWEST, _MOST))
    workload = workload_of(scenario)
    predicted = predict_over_time(
        replica_of(scenario), workload, tier=tier, duration_s=seconds, n_stretches=_PARTS
    )
    found = run(scenario, study=Study(n_replications=runs, keep_records=True))
    tables = [columns(records, workload.slo) for records in found.records]
    means = np.array([np.nanmean(table["ttft_s"]) for table in tables])
    return ComparedOverTime(
        scenario=scenario,
        predicted=predicted,
        mean_ttft_s=float(means.mean()),
        mean_ttft_error_s=float(means.std(ddof=1) / np.sqrt(runs)),
        p99_ttft_s=float(np.nanquantile(np.concatenate([table["ttft_s"] for table in tables]), 0.99)),
        parts=np.array([_parts(table, seconds) for table in tables]),
        goodput_frac=np.array([table["good"].mean() for table in tables]),
    )


def _parts(table: dict[str, Floats], seconds: float) -> Floats:
    """Share of good requests in each part of a run (1 where none come), and who waits at its end."""
    arrival_s, first_s = table["arrival_s"], table["arrival_s"] + table["ttft_s"]
    rows = []
    for k in range(_PARTS):
        start_s, end_s = k * seconds / _PARTS, (k + 1) * seconds / _PARTS
        inside = (start_s <= arrival_s) & (arrival_s < end_s)
        good = float(table["good"][inside].mean()) if inside.any() else 1.0
        rows.append((good, float(((arrival_s <= end_s) & ~(first_s <= end_s)).sum())))
    return np.array(rows)


def main(first: int, end: int) -> None:
    """Print a row for each of these systems."""
    for index in range(first, end):
        print(compared(drawn(index)).row(), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
