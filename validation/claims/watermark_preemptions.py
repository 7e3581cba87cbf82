"""Preemptions against the watermark: many long outputs in too little memory."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from qtheory.system.scheduler import SchedulerSpec
from qtheory.system.workload.request import Requests
from sim import engine
from sim.policies import make_policy
from sim.replica import Replica
from sim.testing import AffineStep

from .claim import Claim, Finding, Measured

__all__ = ["CLAIM"]

_REPORTED = {0.0: 1065, 0.02: 400, 0.05: 187, 0.10: 168}
_KV_TOKENS, _BLOCK_TOKENS = 299_584, 16
_N_REQUESTS, _IN_FLIGHT = 450, 128
_FACTOR = 1.5


def _answer() -> Finding:
    rng = np.random.default_rng(0)
    requests = Requests(
        arrival_s=np.zeros(_N_REQUESTS),
        prompt_tokens=np.rint(rng.uniform(800, 1200, _N_REQUESTS)).astype(np.int64),
        output_tokens=np.rint(rng.uniform(4000, 6000, _N_REQUESTS)).astype(np.int64),
    )
    step = AffineStep(base_s=0.01, per_token_s=5e-5, per_context_token_s=2e-8)
    replica = Replica(step_time=step, n_blocks=_KV_TOKENS // _BLOCK_TOKENS, block_tokens=_BLOCK_TOKENS)
    counts = []
    for watermark in _REPORTED:
        policy = make_policy(SchedulerSpec(name="vllm", max_seqs=256, watermark_frac=watermark))
        records = engine.simulate(requests, policy, replica, client_cap=_IN_FLIGHT)
        counts.append(int(np.sum(records.n_preemptions)))
    parts = [
        Measured(
            what=f"watermark {watermark:.0%}: {reported} preemptions, within a factor {_FACTOR:g}",
            found=str(count),
            holds=reported / _FACTOR <= count <= reported * _FACTOR,
        )
        for (watermark, reported), count in zip(_REPORTED.items(), counts, strict=True)
    ]
    falls = all(after < before for before, after in pairwise(counts))
    return Finding(
        parts=(*parts, Measured(what="fewer with every step", found=str(falls).lower(), holds=falls))
    )


CLAIM = Claim(
    name="watermark-preemptions",
    question="Does a watermark of 2, 5, 10 % take most preemptions away, as it did in a running engine?",
    source="vllm-project/vllm, issue 44594: a 7B model, 299,584 KV tokens, no prefix cache, 450 prompts of "
    "about 1,000 tokens with 5,000 out (20 % either way), 128 at once",
    calibrated="nothing: lengths are uniform within what is stated, and counts hang on the order of steps, "
    "hardly on their times (10 ms and 50 us a token are assumed)",
    teaches="who is let in, or who is thrown out, differs from the engine",
    answer=_answer,
)
