"""Above the limit memory fills up, and running requests lose their blocks or are moved out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload.from_scenario import workload_of
from sim import engine
from sim.policies import make_policy
from sim.record import Records, Status
from sim.replica import Replica

from .claim import Claim, Finding, Measured

__all__ = ["CLAIM"]

_SEED, _N = 20261130, 600
_BELOW_RPS, _ABOVE_RPS = 0.8, 3.2
_HOST_BYTES_PER_S = 15.75e9  # PCI Express 4.0, eight lanes of 16 GT/s with 128b/130b


def _served(rate_rps: float, preemption: str) -> Records:
    scenario = Scenario(hardware="rtx3050", workload="rag", scheduler="fcfs", rate_rps=rate_rps, requests=_N)
    spec = replica_of(scenario)
    block_bytes = spec.block_tokens * spec.roofline.model.kv_bytes_per_token("bf16")
    swaps = preemption == "swap"
    held = Replica(
        step_time=spec.step_time,
        n_blocks=spec.n_blocks,
        block_tokens=spec.block_tokens,
        n_swap_blocks=spec.n_blocks if swaps else 0,
        swap_s_per_block=block_bytes / _HOST_BYTES_PER_S if swaps else 0.0,
    )
    asked = workload_of(scenario).generate(np.random.default_rng(_SEED))
    return engine.simulate(asked, make_policy(replace(spec.scheduler, preemption=preemption)), held)


def _answer() -> Finding:
    parts = []
    for preemption in ("recompute", "swap"):
        below, above = _served(_BELOW_RPS, preemption), _served(_ABOVE_RPS, preemption)
        full = float(below.steps.used_blocks.max()) / below.n_blocks
        found = f"{int(below.n_preemptions.sum())} preempted, {full:.0%} of the memory at most"
        what = f"{preemption}, {_BELOW_RPS:g} requests a second: nobody is preempted, and memory is left"
        holds = not below.n_preemptions.any() and full < 1
        parts.append(Measured(what=what, found=found, holds=holds))
        full = float(above.steps.used_blocks.max()) / above.n_blocks
        n, again = int(above.n_preemptions.sum()), int(above.recomputed_tokens.sum())
        found = f"{n} preempted, {again} tokens computed again, {full:.1%} of the memory at most"
        what = f"{preemption}, {_ABOVE_RPS:g}: memory is used up, some are preempted, " + (
            "and their tokens computed again"
            if preemption == "recompute"
            else "and nothing is computed again"
        )
        holds = n > 0 and full > 0.99 and (again > 0) == (preemption == "recompute")
        parts.append(Measured(what=what, found=found, holds=holds))
        done = int(np.sum(above.status == Status.FINISHED))
        what = f"{preemption}: all of them are served in the end"
        parts.append(Measured(what=what, found=f"{done} of {_N}", holds=done == _N))
    return Finding(parts=tuple(parts))


CLAIM = Claim(
    name="overload-preempts",
    question="Is memory used up above the limit, so that running requests are preempted, and not below?",
    source="Kwon et al. (2023), PagedAttention, SOSP 23, section 4.5: recomputation and swapping",
    calibrated="nothing: rtx3050, retrieval load, prompts first",
    teaches="more is admitted than fits, or who is preempted is lost",
    answer=_answer,
)
