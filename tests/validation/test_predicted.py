"""A scenario by theory: what a command says of a rate, of several, and of a limited time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from qtheory.predict import limit_rps, predict
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload import workload_of
from validation.answer import Study, run

CHAT: dict[str, Any] = {"hardware": "a100", "model": "llama-3.1-8b", "workload": "chat"}


@pytest.mark.parametrize(("scheduler", "load"), [("fcfs", 2.0), ("chunked", 1.3)])
def test_rates_of_an_overload_are_those_that_a_run_counts(scheduler: str, load: float) -> None:
    scenario = Scenario(**CHAT, scheduler=scheduler, rate_rps=1.0, duration_s=100.0, seed=3)
    replica, workload = replica_of(scenario), workload_of(scenario)
    rate = load * limit_rps(replica, workload)
    point = predict(replica, workload, rate_rps=rate, duration_s=100.0, tier="closed")
    found = run(replace(scenario, rate_rps=rate), study=Study(n_replications=4)).result
    assert found.mean_e2e_s is not None
    assert found.mean_ttft_s is not None
    assert point.makespan_s == pytest.approx(found.makespan_s, rel=0.03)
    assert point.throughput_rps == pytest.approx(found.throughput_rps, rel=0.03)
    decoding = found.throughput_rps * (found.mean_e2e_s - found.mean_ttft_s)
    assert point.mean_decoding == pytest.approx(decoding, rel=0.03)
    assert point.goodput_rps == pytest.approx(point.throughput_rps * point.goodput_frac)
