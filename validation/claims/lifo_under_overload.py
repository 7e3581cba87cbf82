"""The latest request first, when more comes than can be served."""

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

_N_REQUESTS, _TTFT_SLO_S = 1000, 2.0


def _answer() -> Finding:
    rng = np.random.default_rng(0)
    requests = Requests(
        arrival_s=np.cumsum(rng.exponential(1 / 14, _N_REQUESTS)),
        prompt_tokens=rng.integers(200, 1800, _N_REQUESTS),
        output_tokens=rng.integers(50, 250, _N_REQUESTS),
    )
    step = AffineStep(base_s=0.02, per_token_s=5e-5, per_context_token_s=2e-7)
    replica = Replica(step_time=step, n_blocks=4000)
    good, worst = {}, {}
    for name in ("chunked", "lifo"):
        policy = make_policy(SchedulerSpec(name=name, budget_tokens=2048, max_seqs=32))
        records = engine.simulate(requests, policy, replica)
        ttft_s = records.first_token_s - requests.arrival_s
        good[name], worst[name] = float(np.mean(ttft_s <= _TTFT_SLO_S)), float(np.max(ttft_s))
    return Finding(
        parts=(
            Measured(
                what=f"more requests with a first token within {_TTFT_SLO_S:g} s than in order of arrival",
                found=f"{good['lifo']:.0%} against {good['chunked']:.0%}",
                holds=good["lifo"] > good["chunked"],
            ),
            Measured(
                what="and a longer wait of the worst",
                found=f"{worst['lifo']:.0f} s against {worst['chunked']:.0f} s",
                holds=worst["lifo"] > worst["chunked"],
            ),
        )
    )


CLAIM = Claim(
    name="lifo-under-overload",
    question="Under overload, does the latest request first keep some in time, and order of arrival few?",
    source="Sheng et al. (2024), S-LoRA, MLSys 24, and runs published with it in order of arrival, latest "
    "first and with early abort (Ying1123/VTC-artifact)",
    calibrated="nothing: 14 requests a second of about 1,000 tokens in and 150 out, more than can be served",
    teaches="the order of the queue is not what decides who is late",
    answer=_answer,
)
