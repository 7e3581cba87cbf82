"""Limits in which the answer of a classical queue is known."""

from __future__ import annotations

import pytest

from qtheory.predict import limit_rps, predict
from qtheory.queues.single import MD1
from tests.qtheory.predict.worlds import world

FIXED = {"hardware": "a100", "model": "llama-3.1-8b", "kv_blocks": 100_000}


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_one_prompt_a_step_and_no_decodes_is_the_queue_with_constant_service(load: float) -> None:
    replica, workload = world(
        **FIXED,
        scheduler="chunked",
        step_time="linear(base_s=0.1)",
        prompt="constant(64)",
        output="constant(1)",
        budget_tokens=64,
    )
    rate_rps = load / 0.1
    exact = MD1(rate_rps=rate_rps, service_s=0.1).solve()
    found = predict(replica, workload, rate_rps=rate_rps)
    assert exact.mean_response_s is not None
    # the worst case for cells of a tenth of a prompt: some prompts that fill a step seem to need two
    assert found.mean_ttft_s == pytest.approx(exact.mean_response_s, rel=0.09)


def test_decodes_alone_are_processor_sharing_whatever_the_outputs() -> None:
    found = {}
    for output in ("constant(201)", "geometric(mean=201)"):
        if output.startswith("geometric"):
            output = "exponential(mean=201)"
        replica, workload = world(
            **FIXED,
            scheduler="chunked",
            step_time="linear(base_s=0.01,per_token_s=0.0002)",
            prompt="constant(1)",
            output=output,
        )
        found[output] = predict(replica, workload, rate_rps=10.0)
    # n = rate * d * tau(n), with tau of one more than a request finds
    mean_d = 200.0
    for point in found.values():
        slope = 10.0 * mean_d * 0.0002
        expected = 10.0 * mean_d * (0.01 + 0.0002) / (1 - slope)
        assert point.mean_decoding == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize(("scheduler", "expected"), [("fcfs", 40.0), ("chunked", 40.0)])
def test_fixed_requests_in_fixed_steps_have_the_limit_that_counting_gives(
    scheduler: str, expected: float
) -> None:
    replica, workload = world(
        **FIXED,
        scheduler=scheduler,
        step_time="linear(base_s=0.1)",
        prompt="constant(16)",
        output="constant(2)",
        max_seqs=8,
    )
    assert limit_rps(replica, workload) == pytest.approx(expected, rel=0.12)
