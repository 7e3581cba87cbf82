"""Runs that come faster than they are served: the last answers end them, by theory as in the simulator."""

from __future__ import annotations

import pytest

from qtheory.laws import Constant, Uniform
from qtheory.predict import predict
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.steptime import Linear
from qtheory.system.workload.from_scenario import workload_of
from qtheory.system.workload.lengths import LawLengths
from validation.answer.ask import run
from validation.answer.study import Study
from validation.sweeps.drain import drain_s

FULL = {"n_requests": 1000, "limit_rps": 10.0}


def test_only_the_constant_part_of_a_step_is_paid_until_the_longest_is_out() -> None:
    uneven = LawLengths(prompt=Constant(value=100), output=Uniform(low=1, high=99))
    work = drain_s(uneven, Linear(base_s=0.0, per_token_s=1e-9), in_flight=64.0, **FULL)
    assert work == pytest.approx(100.0)
    paid = drain_s(uneven, Linear(base_s=0.1), in_flight=1e6, **FULL)
    mean_left = sum(range(1, 100)) / 3 / 50 + 2 / 3  # of outputs that are met in the middle
    assert paid - work == pytest.approx(0.1 * (99 - mean_left), rel=0.05)
    assert drain_s(uneven, Linear(base_s=0.1), in_flight=1.0, **FULL) == pytest.approx(100.0)


@pytest.mark.parametrize("outputs", ["uniform(low=1,high=400)", "lognormal(mean=150,cv=1)"])
def test_the_end_of_a_simulated_run_is_met(outputs: str) -> None:
    scenario = Scenario(
        hardware="a100", model="llama-3.1-8b", max_seqs=64, prompt="constant(200)", output=outputs,
        prefix="none", arrivals="constant", rate_rps=1e6, requests=800, kv_blocks=10_000,
    )  # fmt: skip
    spec, workload = replica_of(scenario), workload_of(scenario)
    said = predict(spec, workload, rate_rps=1e6, tier="closed", n_requests=800)
    in_flight = said.limit_rps * (said.mean_e2e_s - said.mean_ttft_s)
    end_s = drain_s(
        workload.lengths, spec.step_time, n_requests=800, limit_rps=said.limit_rps, in_flight=in_flight
    )
    seen = run(scenario, study=Study(n_replications=2)).result
    assert end_s == pytest.approx(800 / seen.throughput_rps, rel=0.06)
