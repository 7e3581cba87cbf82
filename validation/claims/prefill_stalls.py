"""Prompts that come one after the other, and a job that decodes meanwhile."""

from __future__ import annotations

import numpy as np

from qtheory.system.scheduler import SchedulerSpec
from qtheory.system.workload.request import Requests
from sim import engine
from sim.policies import make_policy
from sim.replica import Replica
from sim.testing import ConstantStep

from .claim import Claim, Finding, Measured

__all__ = ["CLAIM"]

_ARRIVALS = (1, 2, 4, 8)


def _longest_gap_steps(scheduler: str, n_prompts: int) -> int:
    """Steps of one second between two tokens of a job, while a prompt arrives in each of some seconds."""
    requests = Requests(
        arrival_s=np.array([0.0, *(4.5 + i for i in range(n_prompts))]),
        prompt_tokens=np.array([16] + [64] * n_prompts),
        output_tokens=np.array([40] + [1] * n_prompts),
    )
    policy = make_policy(SchedulerSpec(name=scheduler, budget_tokens=128))
    records = engine.simulate(requests, policy, Replica(step_time=ConstantStep(1.0), n_blocks=256))
    gap_s, _ = records.gaps.expand()
    return round(float(np.max(gap_s)))


def _answer() -> Finding:
    parts = []
    for n in _ARRIVALS:
        gap = _longest_gap_steps("fcfs", n)
        what = f"prefill first, {n} prompts in a row: a gap of {n + 1} steps"
        parts.append(Measured(what=what, found=str(gap), holds=gap == n + 1))
    gap = _longest_gap_steps("chunked", _ARRIVALS[-1])
    what = f"chunked, {_ARRIVALS[-1]} prompts in a row: a gap of 1 step"
    return Finding(parts=(*parts, Measured(what=what, found=str(gap), holds=gap == 1)))


CLAIM = Claim(
    name="prefill-stalls",
    question="Do k prompts in a row hold decodes up for k + 1 steps where prompts go first, but not if cut?",
    source="vLLM before its first rewrite, core/scheduler.py; Agrawal et al. (2024), Sarathi-Serve, OSDI 24",
    calibrated="nothing: steps of one second",
    teaches="prompts do not go before decodes, or a step holds both",
    answer=_answer,
)
