"""What the claims on queueing in general share: one small card under a load, by both routes."""

from __future__ import annotations

from functools import cache

import numpy as np

from qtheory.predict import Prediction, predict
from qtheory.system import metrics
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload.from_scenario import workload_of
from sim import engine
from sim.policies import make_policy
from sim.record import Records, Status
from sim.replica import Replica

__all__ = ["goodput_frac", "predicted", "simulated"]

_SEED = 20261130


def _scenario(scheduler: str, rate_rps: float, n: int = 1, workload: str = "rag") -> Scenario:
    return Scenario(hardware="rtx3050", workload=workload, scheduler=scheduler, rate_rps=rate_rps, requests=n)


def predicted(
    scheduler: str, rate_rps: float, *, duration_s: float | None = None, workload: str = "rag"
) -> Prediction:
    """Theory, numeric tier; of all requests of a limited time if one is given."""
    scenario = _scenario(scheduler, rate_rps, workload=workload)
    return predict(replica_of(scenario), workload_of(scenario), rate_rps=rate_rps, duration_s=duration_s)


@cache
def simulated(scheduler: str, rate_rps: float, n: int, workload: str = "rag") -> Records:
    """One run of ``n`` requests."""
    scenario = _scenario(scheduler, rate_rps, n, workload)
    spec = replica_of(scenario)
    asked = workload_of(scenario).generate(np.random.default_rng(_SEED))
    held = Replica(step_time=spec.step_time, n_blocks=spec.n_blocks, block_tokens=spec.block_tokens)
    return engine.simulate(asked, make_policy(spec.scheduler), held)


def goodput_frac(scheduler: str, rate_rps: float, n: int, workload: str = "rag") -> float:
    """Share of good requests in a simulated run."""
    slo = workload_of(_scenario(scheduler, rate_rps, workload=workload)).slo
    records = simulated(scheduler, rate_rps, n, workload)
    outputs = records.requests.output_tokens
    good = metrics.good(
        slo,
        ttft_s=records.first_token_s - records.sent_s,
        tpot_s=metrics.tpot_s(records.first_token_s, records.finish_s, outputs),
        e2e_s=records.finish_s - records.sent_s,
        finished=records.status == Status.FINISHED,
    )
    return float(good.mean())
