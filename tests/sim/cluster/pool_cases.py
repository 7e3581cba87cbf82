"""Random pools, served by both engines, and what differs between them."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from qtheory.basics.errors import PlanError
from qtheory.system.workload.request import Requests
from sim.cluster import FIRST_TOKENS, Link, Member, PoolRecords, Pools, simulate_pools
from sim.cluster._fast_pools import fast_pools, why_pools_stepwise
from sim.cluster._paced_run import PacedRun
from sim.policies import (
    Chunked,
    FewestOutput,
    FirstChunk,
    FullPrompt,
    LastAdmitted,
    LowestPriority,
    Mixed,
    Policy,
    PrefillFirst,
    PrefillFirstChunked,
)
from sim.record import StepRuns
from sim.replica import Replica
from sim.routing import LeastRequests, PowerOfTwo, RandomChoice, RoundRobin
from sim.testing import AffineStep, ConstantStep
from validation.engines import differences

_COLUMNS = [item.name for item in fields(StepRuns)]
_MOMENTS = ("prefill_start_s", "prefill_end_s", "transfer_start_s", "transfer_end_s")


def ignore(step: Any) -> None:
    """An observer that only asks for the reference engine."""


def draw_pools(seed: int) -> tuple[Requests, Pools]:
    """Requests and pools: always the same ones for a seed."""
    rng = np.random.default_rng([seed, 2_032])
    n = int(rng.integers(1, 60))
    if rng.random() < 0.5:
        step_time: Any = ConstantStep(float(rng.choice([1.0, 0.5, 0.37])))
        steps = rng.choice([0.0, 0.5, 1.0, 2.0], n)
        gaps = steps if rng.random() < 0.5 else rng.exponential(float(rng.choice([0.3, 1.0, 3.0])), n)
        rates, latencies = [4.0, 40.0, 1e6], [0.0, 0.5]
    else:
        step_time = AffineStep(base_s=0.01, per_token_s=2e-4, per_context_token_s=1e-6)
        gaps = rng.exponential(float(rng.choice([0.01, 0.05])), n)
        rates, latencies = [2e3, 2e4, 1e6], [0.0, 0.001]
    longest = int(rng.choice([3, 20, 60]))
    requests = Requests(
        arrival_s=np.cumsum(gaps),
        prompt_tokens=rng.integers(1, 50, n),
        output_tokens=rng.integers(1, longest, n),
    )
    return requests, _pools(rng, step_time, float(rng.choice(rates)), float(rng.choice(latencies)))


def _pools(rng: np.random.Generator, step_time: Any, tokens_per_s: float, latency_s: float) -> Pools:
    prefill = Policy(
        name="prefill",
        composition=Chunked(whole_prompts=True),
        budget_tokens=int(rng.choice([30, 64, 1000])),
        max_seqs=int(rng.choice([2, 8, 64])),
        watermark_frac=float(rng.choice([0.0, 0.1])),
    )
    decode = Policy(
        name="decode",
        budget_tokens=100_000,
        max_seqs=int(rng.choice([2, 8, 64])),
        append_rule=str(rng.choice(["exact", "conservative"])),
    )
    first, second = (
        Replica(step_time=step_time, n_blocks=int(rng.choice(sizes)), block_tokens=4)
        for sizes in ([12, 25, 400], [24, 60, 400, 1000])
    )
    return Pools(
        prefill=[Member(prefill, first)],
        decode=[Member(decode, second)],
        link=Link(tokens_per_s=tokens_per_s, latency_s=latency_s),
        first_token=str(rng.choice(FIRST_TOKENS[:2])),
    )


def _rows(steps: StepRuns) -> list[tuple[float, ...]]:
    columns = [np.asarray(getattr(steps, name), dtype=float).tolist() for name in _COLUMNS]
    return list(zip(*columns, strict=True))


def unmerged(found: PoolRecords) -> list[str]:
    """What the records of all say of steps and gaps and no instance does, or the other way round."""
    said = []
    parts = [(row, index) for index, part in enumerate(found.instances) for row in _rows(part.steps)]
    parts.sort(key=lambda pair: (pair[0][0], pair[1]))  # by start, prefill instances first
    if _rows(found.records.steps) != [row for row, _ in parts]:
        said.append("merged steps")
    runs = [part.gaps.expand() for part in found.instances]
    own = np.sort(np.concatenate([np.repeat(gap_s, n_tokens) for gap_s, n_tokens in runs]))
    gap_s, n_tokens = found.records.gaps.expand()
    if not np.array_equal(np.sort(np.repeat(gap_s, n_tokens)), own):
        said.append("merged gaps")
    return said


def draw_several(seed: int) -> tuple[Requests, Pools, dict[str, Any]]:
    """Several instances of a kind, most with little memory for decodes; and what clients do."""
    requests, pools = draw_pools(seed)
    rng = np.random.default_rng([seed, 2_034])
    routers = [LeastRequests(), LeastRequests(), PowerOfTwo(), RandomChoice(), RoundRobin()]
    several = replace(
        pools,
        prefill=_several_prefill(rng, pools.prefill[0]),
        decode=_several_decode(rng, pools.decode[0]),
        link=replace(pools.link, is_shared=bool(rng.random() < 0.3)),
        prefill_router=routers[int(rng.integers(5))],
        decode_router=routers[int(rng.integers(5))],
    )
    how: dict[str, Any] = {"client_cap": 0, "think_s": 0.0, "seed": seed}
    if rng.random() < 0.3:
        how |= {"client_cap": int(rng.choice([2, 5, 20])), "think_s": float(rng.choice([0.0, 0.5]))}
    how["until_s"] = float(rng.choice([math.inf, 5.013, 20.7], p=[0.7, 0.15, 0.15]))
    return _more_told(rng, requests), several, how


def _several_prefill(rng: np.random.Generator, one: Member) -> list[Member]:
    compositions = [Chunked(whole_prompts=True)] * 2 + [
        Chunked(),
        PrefillFirstChunked(),
        PrefillFirst(),
        Mixed(),
    ]
    policy = replace(
        one.policy,
        composition=compositions[int(rng.integers(6))],
        admission=FirstChunk() if rng.random() < 0.2 else FullPrompt(),
        prefill_alloc=str(rng.choice(["chunk", "full"], p=[0.7, 0.3])),
        append_rule=str(rng.choice(["exact", "conservative"], p=[0.7, 0.3])),
        budget_tokens=int(rng.choice([16, 40, 64, 1000])),
    )
    return [Member(policy, one.replica)] * int(rng.integers(1, 4))


def _several_decode(rng: np.random.Generator, one: Member) -> list[Member]:
    victims = [LastAdmitted(), LastAdmitted(), LowestPriority(), FewestOutput()]
    policy = replace(
        one.policy,
        budget_tokens=max(int(rng.choice([16, 64, 100_000])), one.policy.max_seqs),
        victim=victims[int(rng.integers(4))],
        watermark_frac=float(rng.choice([0.0, 0.1], p=[0.7, 0.3])),
    )
    memory = replace(one.replica, n_blocks=int(rng.choice([26, 30, 36, 60])))
    members = [Member(policy, memory)] * int(rng.integers(1, 4))
    if rng.random() < 0.3:
        members[0] = Member(policy, replace(memory, n_blocks=memory.n_blocks + 9))
    return members


def _more_told(rng: np.random.Generator, requests: Requests) -> Requests:
    n = len(requests)
    more: dict[str, Any] = {}
    if rng.random() < 0.3:
        more["priority"] = rng.integers(0, 3, n)
    if rng.random() < 0.3:
        more["max_output_tokens"] = requests.output_tokens + rng.integers(0, 9, n)
    if rng.random() < 0.2:
        after = np.where(rng.random(n) < 0.5, rng.integers(0, np.maximum(np.arange(n), 1)), -1)
        more["after"], more["think_s"] = np.where(np.arange(n) > 0, after, -1), rng.exponential(1.0, n)
    return replace(requests, **more)


def compare_several(requests: Requests, pools: Pools, how: dict[str, Any]) -> tuple[list[str], int]:
    """What differs between the engines, and how many preemptions there were."""
    assert why_pools_stepwise(requests, pools) is None
    observers = [ignore] * (len(pools.prefill) + len(pools.decode))
    run = PacedRun(requests, pools, **{name: how[name] for name in ("client_cap", "think_s", "seed")})
    try:
        slow = simulate_pools(requests, pools, observers=observers, **how)
    except PlanError as error:
        with pytest.raises(PlanError, match=str(error).partition(":")[0]):
            run.run(how["until_s"])
        return [], 0
    return unequal(slow, PoolRecords(**run.run(how["until_s"]))), int(slow.records.n_preemptions.sum())


def compare(requests: Requests, pools: Pools) -> list[str] | None:
    """What differs between the engines; None if the fast one gives up."""
    assert why_pools_stepwise(requests, pools) is None
    fields = fast_pools(requests, pools)
    if fields is None:
        return None
    return unequal(simulate_pools(requests, pools, observers=[ignore, ignore]), PoolRecords(**fields))


def unequal(slow: PoolRecords, fast: PoolRecords) -> list[str]:
    """What differs between the records of two runs."""
    found = differences(replace(slow.records, steps=fast.records.steps), fast.records)
    found += [f"{name}: {line}" for name, one in (("slow", slow), ("fast", fast)) for line in unmerged(one)]
    for index, (one, other) in enumerate(zip(slow.instances, fast.instances, strict=True)):
        found += [f"instance {index}: {line}" for line in differences(one, other)]
    for name in ("prefill", "decode"):
        if getattr(slow, name).tolist() != getattr(fast, name).tolist():
            found.append(name)
    for name in _MOMENTS:
        if not np.allclose(getattr(slow, name), getattr(fast, name), rtol=0, atol=1e-7, equal_nan=True):
            found.append(name)
    return found
