"""Pools of few small instances with steps of one second and blocks of four tokens."""

from __future__ import annotations

from qtheory.system.workload.request import Requests
from sim.cluster import Link, Member, Pools
from sim.policies import Chunked, Policy
from sim.replica import Replica
from sim.testing import ConstantStep

__all__ = ["SIZE", "asked", "decode", "pools", "prefill"]

SIZE = 4


def prefill(n_blocks=40, *, budget=64, step_s=1.0, **more):
    policy = Policy(name="prefill", composition=Chunked(whole_prompts=True), budget_tokens=budget)
    return Member(
        policy, Replica(step_time=ConstantStep(step_s), n_blocks=n_blocks, block_tokens=SIZE, **more)
    )


def decode(n_blocks=40, *, max_seqs=64, step_s=1.0, **more):
    policy = Policy(name="decode", budget_tokens=100_000, max_seqs=max_seqs)
    return Member(
        policy, Replica(step_time=ConstantStep(step_s), n_blocks=n_blocks, block_tokens=SIZE, **more)
    )


def pools(x=None, y=None, **more):
    link = Link(tokens_per_s=40.0, latency_s=0.5)
    return Pools(prefill=x or [prefill()], decode=y or [decode()], **({"link": link} | more))


def asked(arrivals, prompts, outputs):
    return Requests(arrival_s=arrivals, prompt_tokens=prompts, output_tokens=outputs)
