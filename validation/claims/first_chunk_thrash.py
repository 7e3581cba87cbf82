"""Admission by the first chunk alone: prompts that start and cannot finish."""

from __future__ import annotations

import numpy as np

from qtheory.system.scheduler import SchedulerSpec
from qtheory.system.workload.request import Requests
from sim import engine
from sim.policies import make_policy
from sim.replica import Replica
from sim.testing import AffineStep

from .claim import Claim, Finding, Measured

__all__ = ["CLAIM"]

_N_REQUESTS = 60


def _answer() -> Finding:
    rng = np.random.default_rng(0)
    requests = Requests(
        arrival_s=np.cumsum(rng.exponential(0.25, _N_REQUESTS)),
        prompt_tokens=rng.integers(2000, 6000, _N_REQUESTS),
        output_tokens=rng.integers(20, 200, _N_REQUESTS),
    )
    replica = Replica(step_time=AffineStep(base_s=0.01, per_token_s=5e-5), n_blocks=900)
    lost, ends = {}, {}
    for gate in ("full_prompt", "first_chunk"):
        policy = make_policy(SchedulerSpec(name="chunked", budget_tokens=512, admission=gate))
        records = engine.simulate(requests, policy, replica)
        lost[gate] = int(np.sum(records.recomputed_tokens))
        ends[gate] = float(np.max(records.finish_s))
    found = f"{lost['first_chunk']:,} tokens against {lost['full_prompt']:,}"
    more = Measured(
        what="the first chunk's gate computes more tokens again than the whole prompt's",
        found=found,
        holds=lost["first_chunk"] > lost["full_prompt"],
    )
    later = Measured(
        what="and ends later",
        found=f"{ends['first_chunk']:.1f} s against {ends['full_prompt']:.1f} s",
        holds=ends["first_chunk"] > ends["full_prompt"],
    )
    return Finding(parts=(more, later))


CLAIM = Claim(
    name="first-chunk-thrash",
    question="Does a gate that looks at the first chunk alone let prompts in that are thrown out again?",
    source="vLLM V1 before its option scheduler_reserve_full_isl became the default",
    calibrated="nothing: 60 prompts of 2,000 to 6,000 tokens in 14,400 tokens of memory, chunks of 512",
    teaches="blocks are reserved for whole prompts where the engine took them chunk by chunk",
    answer=_answer,
)
