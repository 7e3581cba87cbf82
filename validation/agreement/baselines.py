"""What others would answer: one server of M/G/1, and a birth-death chain of the requests in service."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from qtheory.predict.demand import demand_of
from qtheory.predict.inputs import Engine, engine_of
from qtheory.predict.limits import Limit, Rule, limit_of
from qtheory.system.replica import ReplicaSpec
from qtheory.system.workload import Workload

__all__ = ["BASELINES", "baseline"]

_QUEUE = 4000  # places behind the slots
_LATE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A question to a baseline: Poisson arrivals at a rate below the limit."""

    engine: Engine
    limit: Limit
    rate_rps: float
    whole_prompts: bool

    @property
    def decode_line(self) -> tuple[float, float]:
        """A step of n decodes as a straight line: seconds, and seconds for each."""
        n = max(self.limit.running, 2.0)
        slope = (self.engine.decode_s(n) - self.engine.decode_s(1.0)) / (n - 1)
        return self.engine.decode_s(1.0) - slope, slope

    @property
    def prompt_s(self) -> tuple[float, float]:
        """Mean and variance of the seconds of a prompt alone."""
        tokens, probs = self.engine.demand.prompt_groups
        times = np.array([self.engine.step_s(float(each), 0.0) for each in tokens])
        mean = float(times @ probs)
        return mean, float((times - mean) ** 2 @ probs)


def _mg1(case: _Case) -> dict[str, float]:
    """One request at a time, which takes its share of a full batch: Pollaczek and Khinchine."""
    demand, limit = case.engine.demand, case.limit
    prompt, prompt_var = case.prompt_s
    each = case.engine.decode_s(limit.running) / max(limit.running, 1.0)
    mean = 1 / limit.rate_rps
    var = prompt_var + each**2 * (demand.decode_moment(2) - demand.mean_decode**2)
    load = case.rate_rps * mean
    wait = case.rate_rps * (var + mean**2) / (2 * (1 - load))
    tail = max(0.0, math.log(load / _LATE) * wait / load)
    base, slope = case.decode_line
    left = max(1 - case.rate_rps * prompt, 1e-3)
    grown = max(left - case.rate_rps * demand.mean_decode * slope, 1e-3)
    gap = base / grown
    return {
        "mean_ttft_s": wait + prompt,
        "p99_ttft_s": tail + prompt,
        "mean_tpot_s": gap,
        "p99_tpot_s": gap,
    }


def _mm1(case: _Case) -> dict[str, float]:
    """A birth-death chain whose service rate depends on the number in service."""
    demand = case.engine.demand
    base, slope = case.decode_line
    prompt = max(case.prompt_s[0] - base, 0.0)
    steps = 1.0 if case.whole_prompts else max(1.0, demand.mean_prompt / case.engine.budget_tokens)
    all_steps = steps + demand.mean_decode
    each = (prompt + demand.mean_decode * slope) / all_steps
    n = np.arange(1, max(int(case.engine.slots), 1) + 1)
    rates = n / (all_steps * (base + n * each))
    growth = np.log(case.rate_rps / np.concatenate([rates, np.full(_QUEUE, rates[-1])]))
    law = np.concatenate([[0.0], np.cumsum(growth)])
    law = np.exp(law - law.max())
    law /= law.sum()
    place = np.arange(len(law))
    serving = float(np.minimum(place, n[-1]) @ law)
    wait = max(0.0, float(place @ law) - serving) / case.rate_rps
    own = steps * (base + max(serving - 1, 0.0) * each) + prompt
    gap = max(serving / case.rate_rps - own, 1e-9) / (demand.mean_decode + 1)
    late, left = float(law[n[-1] :].sum()), max(float(rates[-1]) - case.rate_rps, 1e-9)
    tail = math.log(late / _LATE) / left if late > _LATE else 0.0
    return {
        "mean_ttft_s": wait + own + gap,
        "p99_ttft_s": tail + own + gap,
        "mean_tpot_s": gap,
        "p99_tpot_s": gap,
    }


BASELINES: dict[str, Callable[[_Case], dict[str, float]]] = {"M/G/1": _mg1, "M/M(n)/1": _mm1}
"""Baselines by name; the second is the state-dependent M/M/1 of capacity planners such as llm-inferno."""


def baseline(name: str, replica: ReplicaSpec, workload: Workload, rate_rps: float) -> dict[str, float]:
    """Means and 99th percentiles of TTFT and TPOT by a baseline; nothing above its limit.

    Neither knows the law of TPOT: both say that it is always its mean.

    Parameters
    ----------
    name : str
        One of `BASELINES`.
    replica : ReplicaSpec
    workload : Workload
        Its arrivals are taken as Poisson.
    rate_rps : float
        Requests per second, > 0.
    """
    spec = replica.scheduler
    engine = engine_of(replica, replace(demand_of(workload), burstiness=1.0))
    limit = limit_of(engine, Rule(mixed=not spec.whole_prompts))
    if rate_rps >= limit.rate_rps:
        return {}
    case = _Case(engine=engine, limit=limit, rate_rps=rate_rps, whole_prompts=spec.whole_prompts)
    return BASELINES[name](case)
