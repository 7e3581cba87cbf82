"""How long requests decode beside each other, and what bursts make of what runs."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.predict._bursts import Following
from qtheory.predict._meeting import moments_apart, together_frac
from qtheory.predict._models import prepared
from qtheory.predict._numeric import steady
from qtheory.predict._steps import Rule
from qtheory.predict.demand import demand_of
from qtheory.system.workload import GammaArrivals
from tests.qtheory.predict.worlds import world

FIXED = {"hardware": "a100", "model": "llama-3.1-8b", "kv_blocks": 100_000, "prompt": "constant(1)"}


@pytest.mark.parametrize(("output", "expected"), [("constant(201)", 1.0), ("exponential(mean=201)", 0.5)])
def test_equal_outputs_are_together_all_the_time_and_exponential_ones_half_of_it(
    output: str, expected: float
) -> None:
    _, workload = world(**FIXED, output=output)
    assert together_frac(demand_of(workload)) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("running", [1.0, 5.0, 40.0])
def test_exponential_outputs_of_gamma_arrivals_run_as_variably_as_in_the_queue_with_endless_servers(
    running: float,
) -> None:
    cv, mean = 2.0, 200.0
    _, workload = world(**FIXED, output="exponential(mean=201)", arrivals="gamma(cv=2)")
    assert isinstance(workload.arrivals, GammaArrivals)
    steps, weights = moments_apart(demand_of(workload))
    following = Following(arrivals=workload.arrivals, rate_rps=running / mean)(steps)
    transform = (1 + cv**2 / running) ** (-1 / cv**2)  # of a gap, at the rate of an output
    variance_to_mean = 1 / (1 - transform) - running  # Takacs (1962), "Introduction to the theory of queues"
    assert 1 + float(weights @ following) == pytest.approx(variance_to_mean, rel=0.01)


@pytest.mark.parametrize("output", ["lognormal(mean=201,cv=2)", "constant(201)", "exponential(mean=201)"])
def test_bursts_make_what_runs_as_variable_as_its_outputs_are_together(output: str) -> None:
    replica, workload = world(
        **FIXED, scheduler="chunked", step_time="linear(base_s=0.01)", output=output, arrivals="gamma(cv=2)"
    )
    rate_rps = 10.0
    setting = prepared(replica, workload, "chunked")[1].at_rate(rate_rps, np.inf)
    found = steady(setting.in_order, Rule(mixed=True), rate_rps).backlog
    expected = 1 + (setting.engine.demand.lasting - 1) * together_frac(setting.engine.demand)
    assert found.var_running / found.mean_running == pytest.approx(expected, rel=0.1)
