"""A prompt that is cached but for its last block: what is left of its time to first token."""

from __future__ import annotations

import math

import numpy as np

from qtheory.basics.errors import ConfigError
from qtheory.system.hardware import hardware_names
from qtheory.system.replica import ReplicaSpec, replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.steptime import StepLoad
from qtheory.system.workload.request import Requests
from qtheory.system.workload.text_runs import TextRuns
from sim import engine
from sim.policies import make_policy
from sim.replica import Replica

from .claim import Claim, Finding, Measured

__all__ = ["CLAIM"]

_PROMPT_TOKENS = 1024
_MODELS = ("qwen2.5-0.5b", "llama-3.1-8b")
_FAST_S = 5e-3


def _ttft_s(spec: ReplicaSpec) -> tuple[float, int]:
    """Seconds to the first token of a prompt sent a second time, and how many of its tokens were found."""
    none, n = np.zeros(2, dtype=np.int64), np.full(2, _PROMPT_TOKENS)
    same = TextRuns(
        texts=none, starts=none, n_tokens=n, offsets=np.arange(3), output_texts=none - 1, output_starts=none
    )
    asked = Requests(
        arrival_s=np.array([0.0, 100.0]), prompt_tokens=n, output_tokens=none + 1, text_runs=same
    )
    held = Replica(
        step_time=spec.step_time, n_blocks=spec.n_blocks, block_tokens=spec.block_tokens, prefix_cache=True
    )
    records = engine.simulate(asked, make_policy(spec.scheduler), held)
    return float(records.first_token_s[1] - records.sent_s[1]), int(records.cached_tokens[1])


def _floor_s(spec: ReplicaSpec) -> float:
    """Seconds of one pass over the weights, and what every step costs: those of a step of one token."""
    one = StepLoad(prefill_tokens=1, prefill_work=1.0, prefill_context_tokens=1, n_sampled=1)
    return spec.roofline.step_s(one)


def _answer() -> Finding:
    parts = []
    for model in _MODELS:
        ratios, fast, slow_s = [], [], math.inf
        for card in hardware_names():
            try:
                spec = replica_of(Scenario(hardware=card, model=model, scheduler="chunked"))
            except ConfigError:  # it does not fit
                continue
            ttft_s, found = _ttft_s(spec)
            if found != _PROMPT_TOKENS - spec.block_tokens:
                ratios.append(math.inf)
            ratios.append(ttft_s / _floor_s(spec))
            if ttft_s < _FAST_S:
                fast.append(f"{card} {1e3 * ttft_s:.1f}")
            else:
                slow_s = min(slow_s, _floor_s(spec))
        what = (
            f"{model} on {len(ratios)} cards: TTFT is one pass over the weights and its overhead, within 5 %"
        )
        found_text = f"{min(ratios):.3f} to {max(ratios):.3f} of it"
        parts.append(
            Measured(what=what, found=found_text, holds=all(abs(each - 1) < 0.05 for each in ratios))
        )
        what = f"{model}: where it is not under 5 ms, that pass alone takes longer than 4.75 ms"
        parts.append(
            Measured(what=what, found=f"at least {1e3 * slow_s:.1f} ms", holds=slow_s > 0.95 * _FAST_S)
        )
        what = f"{model}: under 5 ms on some cards (ms)"
        parts.append(Measured(what=what, found=", ".join(fast) or "none", holds=bool(fast)))
    return Finding(parts=tuple(parts))


CLAIM = Claim(
    name="cached-prefix-floor",
    question="Does a prompt of 1,024 tokens that is cached wait for no more than one pass over the weights?",
    source="a hit leaves the last block to compute, and a step of few tokens is bound by the weights",
    calibrated="nothing: every accelerator that holds the model, by its datasheet",
    teaches="a hit is not used, or a step of one block is not bound by the weights",
    answer=_answer,
)
