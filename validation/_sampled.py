"""One run at one rate (or some short ones), reduced to what tells where the knee is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ServingError
from qtheory.predict.demand import demand_of
from qtheory.predict.inputs import engine_of
from qtheory.system.scenario import Scenario
from qtheory.system.slo import Slo
from qtheory.system.workload import DayArrivals, MmppArrivals, OpenArrivals, ProfileArrivals, Workload
from validation.answer import Study
from validation.answer.point import Replication, build, replicate, requests_of

__all__ = ["Plan", "Sample", "Work", "plan_of", "sample"]

_CUT_FRAC = 0.2  # of a run of a steady state, from its empty start
_LEAST = 100  # requests of a sample: some are late at a knee, so chance neither hides nor makes a slope
_STEADY, _FINITE = Study(steady=True), Study()


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Seconds of a server's time that a prompt token and a decode step are worth, and that of a request."""

    prompt_s: float
    decode_s: float
    mean_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is simulated for a knee.

    Parameters
    ----------
    scenario : Scenario
        Its rate is replaced.
    is_steady : bool
        Whether the question is about a steady state, so that the warm-up is left out and runs can be of any
        length; else each run is as the scenario says.
    work : Work or None
        To know by how much the load of a run is above what was asked for; None where that says nothing.
    n_random : int
        Runs that differ; 1 for a recorded trace, else 0: as many as are needed.
    """

    scenario: Scenario
    is_steady: bool
    work: Work | None
    n_random: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """One run; runs of fewer than 100 requests, which a scenario may ask for, are several as one.

    Parameters
    ----------
    rate_rps : float
    n_requests : int
        Simulated.
    bad_frac : float
        Share of those behind the warm-up that are not good.
    ahead_frac : float
        By how much more work arrived than the mean, relative; 0 if that is not known.
    n_effective : float
        About how many independent requests the share is worth.
    missed : dict
        Share that missed each limit: ``TTFT``, ``TPOT``, ``E2E``.
    mean_e2e_s : float
        Of the served requests.
    waits : dict
        Share of the time in which somebody waited, by what for.
    stepwise : str or None
        Why it ran step by step, which is slow; None if it did not.
    """

    rate_rps: float
    n_requests: int
    bad_frac: float
    ahead_frac: float
    n_effective: float
    missed: dict[str, float]
    mean_e2e_s: float
    waits: dict[str, float]
    stepwise: str | None = None


def plan_of(scenario: Scenario) -> Plan:
    """How a scenario is simulated for its knee: as a steady state wherever it has one.

    Parameters
    ----------
    scenario : Scenario
        A length of the runs that is given is kept.

    Raises
    ------
    ConfigError
        If the scenario names something unknown or impossible.
    """
    point = build(scenario, _FINITE)
    changing = isinstance(point.workload.arrivals, DayArrivals | ProfileArrivals)
    has_length = scenario.requests is not None or scenario.duration_s is not None
    if scenario.trace is not None or changing or has_length or scenario.stop_s is not None:
        return Plan(
            scenario=scenario, is_steady=False, work=None, n_random=1 if scenario.trace is not None else 0
        )
    return Plan(scenario=scenario, is_steady=True, work=_work(point.replica, point.workload))


def _work(spec: Any, workload: Workload) -> Work | None:
    """Marginal seconds at full batches; None where requests hang together, or the rate wanders by itself."""
    arrivals, structure = workload.arrivals, workload.structure
    if not isinstance(arrivals, OpenArrivals) or isinstance(arrivals, MmppArrivals):
        return None
    if structure.conversations is not None or structure.tenants:
        return None
    try:
        engine = engine_of(spec, demand_of(workload))
        n, tokens = max(engine.slots, 1.0), float(spec.budget_tokens)
        decode_s = engine.decode_s(n) / n
        prompt_s = (engine.step_s(tokens, n) - engine.step_s(0.0, n)) / tokens
    except ServingError:
        return None
    lengths = workload.lengths
    mean_s = prompt_s * lengths.mean_prompt_tokens + decode_s * (lengths.mean_output_tokens - 1)
    return Work(prompt_s=prompt_s, decode_s=decode_s, mean_s=mean_s)


def sample(plan: Plan, rate_rps: float, n_requests: int, index: int) -> Sample:
    """Simulate a run at a rate, or some short ones.

    Parameters
    ----------
    plan : Plan
    rate_rps : float
        Requests per second, > 0.
    n_requests : int
        Of a run of a steady state.
    index : int
        Gives the random numbers, >= 0.

    Raises
    ------
    ServingError
        If the scenario cannot be simulated.
    """
    scenario = replace(plan.scenario, rate_rps=rate_rps)
    if plan.is_steady:
        scenario = replace(scenario, requests=n_requests)
    study = _STEADY if plan.is_steady else _FINITE
    point = build(scenario, study)
    study = replace(study, keep_records=not plan.is_steady)
    n_runs = 1 if plan.is_steady or plan.n_random else math.ceil(_LEAST / (scenario.requests or _LEAST))
    runs = [
        _reduced(plan, point.workload, replicate(point, at, study), at, n_requests)
        for at in range(n_runs * index, n_runs * (index + 1))
    ]
    return replace(_together(runs), rate_rps=rate_rps)


def _together(runs: Sequence[Sample]) -> Sample:
    """Runs of one length as one, each counting alike."""
    if len(runs) == 1:
        return runs[0]
    served_s = [one.mean_e2e_s for one in runs if not math.isnan(one.mean_e2e_s)]
    return replace(
        runs[0],
        n_requests=sum(one.n_requests for one in runs),
        bad_frac=fmean(one.bad_frac for one in runs),
        n_effective=sum(one.n_effective for one in runs),
        missed={word: fmean(one.missed[word] for one in runs) for word in runs[0].missed},
        mean_e2e_s=fmean(served_s) if served_s else math.nan,
        waits={word: fmean(one.waits[word] for one in runs) for word in runs[0].waits},
    )


def _reduced(plan: Plan, workload: Workload, run: Replication, index: int, n_requests: int) -> Sample:
    n_cut = int(_CUT_FRAC * n_requests) if plan.is_steady else 0
    good = run.series["good"][n_cut:].astype(float)
    row = run.result.row()
    return Sample(
        rate_rps=workload.offered_rps,
        n_requests=run.result.n_requests,
        bad_frac=1 - float(good.mean()) if len(good) else 0.0,
        ahead_frac=_ahead(plan, workload, run, n_cut, index),
        n_effective=_n_effective(good),
        missed=_missed(run, workload.slo, n_cut),
        mean_e2e_s=row["mean_e2e_s"] or math.nan,
        stepwise=run.stepwise,
        waits={
            word: float(row.get(name) or 0.0)
            for name, word in (
                ("waits_for_slots_frac", "slots"),
                ("waits_for_budget_frac", "token budget"),
                ("waits_for_memory_frac", "KV memory"),
            )
        },
    )


def _ahead(plan: Plan, workload: Workload, run: Replication, n_cut: int, index: int) -> float:
    work = plan.work
    if work is None:
        return 0.0
    requests = requests_of(workload, plan.scenario.seed, index)
    arrival_s = np.sort(requests.arrival_s)
    first = max(n_cut, 1)
    n = len(arrival_s) - first
    seconds = work.prompt_s * requests.prompt_tokens + work.decode_s * (requests.output_tokens - 1)
    came = float(seconds[first:].sum()) / (n * work.mean_s) - 1
    took = float(arrival_s[-1] - arrival_s[first - 1]) * workload.offered_rps / n - 1
    return came - took


def _n_effective(good: NDArray[np.float64], n_batches: int = 20) -> float:
    """From the means of some stretches; rough, but all that is needed to choose a length."""
    size, share = len(good) // n_batches, float(good.mean()) if len(good) else 1.0
    if size < 1 or not 0 < share < 1:
        return float(len(good))
    means = good[: size * n_batches].reshape(n_batches, size).mean(axis=1)
    spread = float(means.var(ddof=1))
    return share * (1 - share) / spread * n_batches if spread > 0 else float(len(good))


def _missed(run: Replication, slo: Slo, n_cut: int) -> dict[str, float]:
    """Shares of the requests; one without a value (shed, rejected) missed its first token."""
    columns = run.series
    missed = {}
    limits = {"TTFT": ("ttft_s", slo.ttft_s), "TPOT": ("tpot_s", slo.tpot_s), "E2E": ("e2e_s", slo.e2e_s)}
    for word, (name, limit) in limits.items():
        if limit is None or name not in columns:
            continue
        values = columns[name][n_cut:]
        late = values > limit
        if word == "TTFT":
            late = late | np.isnan(values)
        missed[word] = float(late.mean()) if len(values) else math.nan
    return missed
