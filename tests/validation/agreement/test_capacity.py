"""Throughput in overload is what a count by hand gives."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.predict import limit_rps
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload.from_scenario import workload_of
from validation.agreement._controlled import controlled
from validation.agreement.capacity import overload_rps

FIXED = Scenario(
    hardware="rtx3050",
    step_time="linear(base_s=0.1)",
    prompt="constant(16)",
    output="constant(2)",
    kv_blocks=1000,
    max_seqs=8,
)


@pytest.mark.parametrize(
    ("scheduler", "per_step"),
    [
        ("fcfs", 4.0),  # a step for eight prompts, and one that ends all eight
        ("static", 4.0),
        ("orca", 4.0),
    ],
)
def test_steps_of_fixed_length_and_requests_of_fixed_size(scheduler: str, per_step: float) -> None:
    found = overload_rps(Scenario(**FIXED.changed() | {"scheduler": scheduler}), n_requests=2000)
    assert found.rate_rps == pytest.approx(per_step / 0.1, rel=0.02)


def test_deadline_and_shortest_first_schedulers_are_given_the_throughput_of_chunked() -> None:
    rates = {
        name: overload_rps(Scenario(**FIXED.changed() | {"scheduler": name}), n_requests=500).rate_rps
        for name in ("chunked", "slo", "sjf")
    }
    assert rates["slo"] == rates["chunked"] == rates["sjf"]


def test_more_requests_make_the_error_smaller() -> None:
    scenario = Scenario(hardware="a100", workload="chat")
    few, many = (overload_rps(scenario, n_requests=n) for n in (2000, 32_000))
    assert many.error_rps < few.error_rps
    assert abs(few.rate_rps - many.rate_rps) < 4 * (few.error_rps + many.error_rps)


def test_pools_work_off_a_queue_as_fast_as_places_are_taken_again() -> None:
    apart = {"scheduler": "disaggregated", "prompt": "constant(100)", "output": "lognormal(mean=11,cv=0.5)"}
    scenario = Scenario(**FIXED.changed() | apart)
    found = overload_rps(scenario, n_requests=1200)
    told = limit_rps(replica_of(scenario), workload_of(scenario))
    assert told == pytest.approx(8 / 11 / 0.1, rel=0.01)  # eight places, ten steps and one to join
    assert abs(found.rate_rps - told) < 4 * found.error_rps


def test_controls_take_out_what_they_explain_and_nothing_else() -> None:
    rng = np.random.default_rng(5)
    shares = rng.normal(size=(40, 2))
    exact, no_error = controlled(3.0 + shares @ [0.5, -2.0], shares)
    assert (exact, no_error) == (pytest.approx(3.0), pytest.approx(0.0, abs=1e-12))
    values = rng.normal(3.0, 1.0, size=40)
    plain, error = controlled(values, np.zeros((40, 3)))
    assert plain == pytest.approx(values.mean())
    assert error == pytest.approx(values.std(ddof=1) / np.sqrt(40))


def test_the_limit_of_another_sample_is_the_same_while_its_throughput_is_not() -> None:
    scenario = Scenario(hardware="a100", workload="chat")
    found = [overload_rps(scenario, n_requests=16_000, seed=seed) for seed in range(6)]
    spread = {
        name: float(np.std([getattr(one, name) for one in found], ddof=1))
        for name in ("rate_rps", "limit_rps")
    }
    assert spread["limit_rps"] < spread["rate_rps"] / 2
    assert spread["limit_rps"] < 2 * np.mean(
        [one.limit_error_rps for one in found]
    )  # F(5, many) < 4 at 99.9 %
