"""A long prompt arrives beside five that decode: how long they stand still, whole and in pieces."""

from __future__ import annotations

import numpy as np

from qtheory.system.replica import ReplicaSpec, replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.steptime import StepLoad
from qtheory.system.workload.request import Requests
from sim import engine
from sim.policies import make_policy
from sim.record import Records
from sim.replica import Replica

from .claim import Claim, Finding, Measured

__all__ = ["CLAIM"]

_N_DECODES, _PROMPT_TOKENS, _LONG_TOKENS, _OUTPUT_TOKENS = 5, 200, 4000, 400
_AT_S = 3.0
_SAME = 1e-9


def _served(spec: ReplicaSpec) -> Records:
    asked = Requests(
        arrival_s=np.array([0.0] * _N_DECODES + [_AT_S]),
        prompt_tokens=np.array([_PROMPT_TOKENS] * _N_DECODES + [_LONG_TOKENS]),
        output_tokens=np.full(_N_DECODES + 1, _OUTPUT_TOKENS),
    )
    held = Replica(step_time=spec.step_time, n_blocks=spec.n_blocks, block_tokens=spec.block_tokens)
    return engine.simulate(asked, make_policy(spec.scheduler), held)


def _whole_s(spec: ReplicaSpec, context_tokens: int) -> float:
    """Theory: the step of the prompt, and the decodes of all six behind it."""
    n = _LONG_TOKENS
    prompt = StepLoad(prefill_tokens=n, prefill_work=n * (n + 1) / 2, prefill_context_tokens=n, n_sampled=1)
    decodes = StepLoad(
        n_decodes=_N_DECODES + 1, decode_context_tokens=context_tokens, n_sampled=_N_DECODES + 1
    )
    return spec.roofline.step_s(prompt) + spec.roofline.step_s(decodes)


def _piece_s(spec: ReplicaSpec, context_tokens: int) -> float:
    """Theory: the last step that is full, with what the prompt has by then to attend to."""
    n = int(spec.scheduler.budget_tokens or 0) - _N_DECODES
    before = (_LONG_TOKENS // n - 1) * n
    step = StepLoad(
        n_decodes=_N_DECODES,
        decode_context_tokens=context_tokens,
        prefill_tokens=n,
        prefill_work=n * before + n * (n + 1) / 2,
        prefill_context_tokens=before + n,
        n_sampled=_N_DECODES,
    )
    return spec.roofline.step_s(step)


def _answer() -> Finding:
    parts, ttft_s = [], {}
    for scheduler, by_theory, what in (
        ("fcfs", _whole_s, "whole: they wait for the prompt's step and their own"),
        ("chunked", _piece_s, "in pieces: they wait for the step of one piece"),
    ):
        spec = replica_of(Scenario(hardware="rtx3050", scheduler=scheduler))
        records = _served(spec)
        steps, ttft_s[scheduler] = records.steps, float(records.first_token_s[-1]) - _AT_S
        gap_s, _ = records.gaps.expand()
        usual_s, longest_s = float(np.median(gap_s)), float(np.max(gap_s))
        prompts = np.flatnonzero((steps.prefill_tokens > 0) & (steps.start_s >= _AT_S))
        last = prompts[-1] + 1 if scheduler == "fcfs" else prompts[-2]
        theory_s = by_theory(spec, int(steps.decode_context_tokens[last]))
        found = f"{1e3 * theory_s:.1f} ms by theory, {1e3 * longest_s:.1f} simulated"
        parts.append(Measured(what=what, found=found, holds=abs(longest_s / theory_s - 1) < _SAME))
        times = longest_s / usual_s
        if scheduler == "fcfs":
            what, holds = (
                "whole: at least fifteen times as long as from token to token elsewhere",
                times >= 15,
            )
        else:
            what, holds = "in pieces: less than 60 ms and at most eight times as long", longest_s < 0.06
            holds = holds and times <= 8
        parts.append(Measured(what=what, found=f"{times:.1f} times {1e3 * usual_s:.1f} ms", holds=holds))
    later = ttft_s["chunked"] / ttft_s["fcfs"] - 1
    what = "the price: the first token of the long prompt itself comes later, at most a quarter"
    parts.append(Measured(what=what, found=f"{later:.0%}", holds=0 < later <= 0.25))
    return Finding(parts=tuple(parts))


CLAIM = Claim(
    name="head-of-line",
    question="Does a prompt of 4,000 tokens hold five answers up if it is computed whole, but not in pieces?",
    source="Agrawal et al. (2024), Sarathi-Serve, OSDI 24: generation stalls",
    calibrated="nothing: rtx3050 and its default model, a budget of 512 tokens",
    teaches="decodes go beside a whole prompt, or a piece is larger than the budget leaves",
    answer=_answer,
)
