"""The gate of SGLang by theory: as much is served as in the simulator, which lets in request by request."""

from __future__ import annotations

import pytest

from qtheory.predict import predict
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload.from_scenario import workload_of
from validation.answer.ask import run
from validation.answer.study import Study
from validation.sweeps.drain import drain_s
from validation.sweeps.expected import gated


def _scenario(outputs: str, n_requests: int) -> Scenario:
    return Scenario(
        hardware="a100", model="llama-3.1-8b", scheduler="sglang", budget_tokens=8192, max_seqs=4096,
        prompt="uniform(low=1,high=600)", output=outputs, prefix="none", arrivals="constant", rate_rps=1e6,
        requests=n_requests, kv_blocks=2000,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("outputs", "n_requests"), [("uniform(low=1,high=400)", 200), ("uniform(low=1,high=1000)", 1000)]
)
def test_requests_that_are_all_there_are_served_as_fast_as_in_the_simulator(
    outputs: str, n_requests: int
) -> None:
    scenario = _scenario(outputs, n_requests)
    workload = workload_of(scenario)
    spec = gated(replica_of(scenario), workload, n_requests=n_requests)
    said = predict(spec, workload, rate_rps=1e6, tier="closed", n_requests=n_requests)
    in_flight = said.limit_rps * (said.mean_e2e_s - said.mean_ttft_s)
    end_s = drain_s(
        workload.lengths,
        spec.step_time,
        n_requests=n_requests,
        limit_rps=said.limit_rps,
        in_flight=in_flight,
    )
    seen = run(scenario, study=Study(n_replications=2)).result
    assert end_s == pytest.approx(n_requests / seen.throughput_rps, rel=0.08)


def test_a_short_run_lets_in_fewer_than_a_long_one_and_another_scheduler_is_left_alone() -> None:
    scenario = _scenario("constant(400)", 200)
    spec, workload = replica_of(scenario), workload_of(scenario)
    slots = [gated(spec, workload, n_requests=n).scheduler.max_seqs or 0 for n in (60, 200)]
    assert slots[0] < slots[1] < (gated(spec, workload).scheduler.max_seqs or 0)
    other = replica_of(Scenario(model="llama-3.1-8b", scheduler="fcfs"))
    assert gated(other, workload) is other
