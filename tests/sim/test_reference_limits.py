"""Limits in which the reference engine must be a queue that has a formula."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from qtheory.system.scheduler import SCHEDULERS, SchedulerSpec
from qtheory.system.steptime import StepLoad
from qtheory.system.workload.request import Requests
from sim.policies import Chunked, Mixed, NoEvict, Policy, PrefillFirst, Static, make_policy
from sim.record import Records
from sim.reference import simulate
from sim.replica import Replica
from sim.testing import AffineStep, ConstantStep

AMPLE = 100_000
WARM_UP = 500


def poisson(seed: int, n: int, rate_rps: float, output_tokens: NDArray[np.int64] | int = 1) -> Requests:
    """Poisson arrivals of one-token prompts."""
    rng = np.random.default_rng(seed)
    return Requests(
        arrival_s=np.cumsum(rng.exponential(1 / rate_rps, n)),
        prompt_tokens=np.ones(n, dtype=np.int64),
        output_tokens=np.broadcast_to(output_tokens, n),
    )


def assert_mean(run: Callable[[int], Records], expected_s: float, *, replications: int) -> None:
    """Mean latency over replications, behind the warm-up, within 4 standard errors of what is expected."""
    means = []
    for seed in range(replications):
        records = run(seed)
        means.append(float(np.mean((records.finish_s - records.sent_s)[WARM_UP:])))
    error_s = np.std(means, ddof=1) / math.sqrt(replications)
    assert abs(np.mean(means) - expected_s) < 4 * error_s
    assert error_s < 0.05 * expected_s  # otherwise the comparison says nothing


@pytest.mark.parametrize("composition", [Chunked(), Mixed(), PrefillFirst(), Static()])
def test_one_slot_and_one_token_is_m_d_1(composition):
    rate, service_s = 0.7, 1.0
    policy = Policy(name="one", composition=composition, max_seqs=1)
    replica = Replica(step_time=ConstantStep(service_s), n_blocks=AMPLE)
    load = rate * service_s
    expected_s = service_s + load * service_s / (2 * (1 - load))  # Pollaczek-Khinchine with scv 0
    assert_mean(lambda seed: simulate(poisson(seed, 3000, rate), policy, replica), expected_s, replications=8)


@pytest.mark.slow
@pytest.mark.parametrize("composition", [Chunked(), PrefillFirst(), Static()])
def test_one_slot_is_m_g_1_in_the_output_length(composition):
    rate, step_s, longest = 0.06, 1.0, 19
    lengths = np.arange(1, longest + 1)
    policy = Policy(name="one", composition=composition, max_seqs=1)
    replica = Replica(step_time=ConstantStep(step_s), n_blocks=AMPLE)
    mean_s, second = lengths.mean() * step_s, (lengths**2).mean() * step_s**2
    expected_s = mean_s + rate * second / (2 * (1 - rate * mean_s))

    def run(seed: int) -> Records:
        output = np.random.default_rng(1000 + seed).integers(1, longest + 1, 6000)
        return simulate(poisson(seed, 6000, rate, output), policy, replica)

    assert_mean(run, expected_s, replications=8)


def greedy_batch_latency_s(rate: float, step_s: Callable[[int], float], max_batch: int) -> float:
    """Mean latency of the queue that serves up to ``max_batch`` at once, by its chain at service starts."""
    n = 60
    found = np.arange(1, n + 1)
    batch = np.minimum(found, max_batch)
    busy_s = np.array([step_s(int(b)) for b in batch])
    p = np.zeros((n, n))
    for row in range(n):
        left, mean = found[row] - batch[row], rate * busy_s[row]
        weights = [math.exp(-mean) * mean**k / math.factorial(k) for k in range(n)]
        for k, weight in enumerate(weights):
            p[row, min(max(left + k, 1), n) - 1] += weight
    idle = np.array([math.exp(-rate * busy_s[row]) if found[row] <= max_batch else 0.0 for row in range(n)])
    system = np.vstack([(p / p.sum(axis=1, keepdims=True)).T - np.eye(n), np.ones(n)])
    pi = np.linalg.lstsq(system, np.append(np.zeros(n), 1.0), rcond=None)[0]
    cycle_s = pi @ busy_s + pi @ idle / rate
    return float(pi @ (found * busy_s + rate * busy_s**2 / 2) / cycle_s / rate)


@pytest.mark.parametrize("composition", [Chunked(), Mixed(), PrefillFirst()])
def test_one_token_outputs_make_the_greedy_batch_queue(composition):
    rate, max_batch, prompt = 5.0, 8, 10
    step = AffineStep(base_s=0.5, per_token_s=0.01)
    policy = Policy(
        name="batch", composition=composition, max_seqs=max_batch, budget_tokens=max_batch * prompt
    )
    replica = Replica(step_time=step, n_blocks=AMPLE)
    expected_s = greedy_batch_latency_s(rate, lambda b: step.step_s((0, 0, b * prompt, 0.0, 0, b)), max_batch)

    def run(seed: int) -> Records:
        n = 5000
        arrivals = np.cumsum(np.random.default_rng(seed).exponential(1 / rate, n))
        requests = Requests(
            arrival_s=arrivals, prompt_tokens=np.full(n, prompt), output_tokens=np.ones(n, dtype=np.int64)
        )
        return simulate(requests, policy, replica)

    assert_mean(run, expected_s, replications=8)


@pytest.mark.parametrize("name", SCHEDULERS)
def test_without_load_the_first_token_takes_the_steps_of_its_prompt_and_the_others_one_each(name):
    step = AffineStep(base_s=0.01, per_token_s=1e-4, per_context_token_s=1e-6, per_work_s=1e-7)
    policy = make_policy(SchedulerSpec(name=name))
    prompt, output, budget = 5000, 4, policy.budget_tokens
    requests = Requests(arrival_s=[3.0], prompt_tokens=[prompt], output_tokens=[output], ttft_slo_s=[1e6])
    records = simulate(requests, policy, Replica(step_time=step, n_blocks=AMPLE))
    chunks = [min(budget, prompt - start) for start in range(0, prompt, budget)]
    before = np.cumsum([0, *chunks])
    expected_s = sum(
        step.step_s(StepLoad(prefill_tokens=n, prefill_work=n * c + n * (n + 1) / 2))
        for n, c in zip(chunks, before, strict=False)
    )
    assert records.first_token_s[0] - 3.0 == pytest.approx(expected_s)
    gaps_s = [step.step_s(StepLoad(1, prompt + 1 + k)) for k in range(output - 1)]
    assert records.gaps.expand()[0] == pytest.approx(gaps_s)


@pytest.mark.parametrize(
    ("policy", "steps_per_request"),
    [
        (Policy(name="slots", max_seqs=8), 10 / 8),  # 10 steps each, 8 at once
        (Policy(name="static", composition=Static(), max_seqs=8), 10 / 8),
        (Policy(name="tokens", budget_tokens=13), 39 / 13),  # 30 + 10 - 1 tokens each, 13 a step
        (Policy(name="memory", admission=NoEvict()), 10 / 5),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_overload_throughput_is_the_limit_that_binds(policy, steps_per_request):
    n, prompt, output, step_s = 400, 30, 10, 0.1
    n_blocks = 25 if policy.name == "memory" else AMPLE  # 5 jobs of 40 tokens in blocks of 8
    requests = Requests(
        arrival_s=np.zeros(n),
        prompt_tokens=np.full(n, prompt),
        output_tokens=np.full(n, output),
        max_output_tokens=np.full(n, output),
    )
    records = simulate(
        requests, policy, Replica(step_time=ConstantStep(step_s), n_blocks=n_blocks, block_tokens=8)
    )
    middle = np.sort(records.finish_s)[n // 4 : 3 * n // 4]
    throughput_rps = (len(middle) - 1) / (middle[-1] - middle[0])
    # finishes come in groups of 8 at most, and the window cuts one of about 25
    assert throughput_rps == pytest.approx(1 / (steps_per_request * step_s), rel=0.05)
