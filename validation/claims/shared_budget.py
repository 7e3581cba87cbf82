"""Decodes take their tokens first and prompts what the budget leaves; both read the weights once."""

from __future__ import annotations

import numpy as np

from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.steptime import StepLoad

from ._guide import simulated
from .claim import Claim, Finding, Measured

__all__ = ["CLAIM"]

_SCHEDULER, _RATE_RPS, _N = "chunked", 1.6, 20_000
_SAME = 1e-9


def _weights_once(budget: int) -> list[Measured]:
    """What a step with both is spared beside two steps, by the roofline."""
    roofline = replica_of(Scenario(hardware="rtx3050", scheduler=_SCHEDULER)).roofline
    n = 8
    chunk = StepLoad(
        prefill_tokens=budget - n,
        prefill_work=(budget - n) * (budget - n + 1) / 2,
        prefill_context_tokens=budget - n,
    )
    decodes = StepLoad(n_decodes=n, decode_context_tokens=1000 * n, n_sampled=n)
    both = chunk._replace(n_decodes=n, decode_context_tokens=1000 * n, n_sampled=n)
    spared = float(roofline.bytes(chunk) + roofline.bytes(decodes) - roofline.bytes(both))
    weights = roofline.model.linear_bytes(roofline.weight_format)
    what = f"a step of {budget - n} prompt tokens and {n} decodes reads the layers' weights once, not twice"
    found = f"{spared / 1e6:.0f} MB less than two steps, of {weights / 1e6:.0f} MB"
    parts = [Measured(what=what, found=found, holds=abs(spared / weights - 1) < _SAME)]
    one_s, two_s = roofline.step_s(both), roofline.step_s(chunk) + roofline.step_s(decodes)
    what = "and is over before two steps would be"
    found = f"{1e3 * one_s:.1f} ms, and {1e3 * two_s:.1f}"
    return [*parts, Measured(what=what, found=found, holds=one_s < two_s)]


def _answer() -> Finding:
    budget = replica_of(Scenario(hardware="rtx3050", scheduler=_SCHEDULER)).scheduler.budget_tokens or 0
    steps = simulated(_SCHEDULER, _RATE_RPS, _N).steps
    has_prompt = steps.prefill_tokens > 0
    left = budget - steps.n_decodes[has_prompt]
    taken, waits = steps.prefill_tokens[has_prompt], steps.n_waiting[has_prompt] > 0
    parts = [
        Measured(
            what=f"no prompt token beyond what decodes leave of {budget}, in {len(taken)} simulated steps",
            found=f"at most {int(np.max(taken - left))} beyond",
            holds=bool(np.all(taken <= left)),
        ),
        Measured(
            what="all that they leave, in each of those steps with somebody waiting still",
            found=f"{int(np.sum(taken[waits] == left[waits]))} of {int(np.sum(waits))}",
            holds=bool(np.all(taken[waits] == left[waits])) and bool(waits.any()),
        ),
    ]
    return Finding(parts=(*parts, *_weights_once(budget)))


CLAIM = Claim(
    name="shared-budget",
    question="Do prompts get all that decodes leave of the budget, for one pass over the weights?",
    source="Agrawal et al. (2024), Sarathi-Serve, OSDI 24: stall-free batching",
    calibrated="nothing: rtx3050, retrieval load, 1.6 requests a second",
    teaches="a step is larger than its budget, or left with room while somebody waits",
    answer=_answer,
)
