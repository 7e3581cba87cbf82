"""Ten seconds of long prompts beyond the limit: what the time per output token becomes."""

from __future__ import annotations

import numpy as np

from qtheory.system import metrics

from ._guide import predicted, simulated
from .claim import Claim, Finding, Measured

__all__ = ["CLAIM"]

_RATE_RPS, _SPAN_S = 10.0, 10.0
_STALLED_S, _BOUNDED_S = 0.4, 0.06


def _p99_tpot_s(scheduler: str) -> float:
    records = simulated(scheduler, _RATE_RPS, round(_RATE_RPS * _SPAN_S))
    outputs = records.requests.output_tokens
    tpot_s = metrics.tpot_s(records.first_token_s, records.finish_s, outputs)
    return float(np.percentile(tpot_s[outputs > 1], 99))


def _answer() -> Finding:
    parts = []
    for scheduler, what in (
        ("fcfs", f"whole prompts first: p99 TPOT above {1e3 * _STALLED_S:.0f} ms"),
        ("chunked", f"prompts in pieces: p99 TPOT below {1e3 * _BOUNDED_S:.0f} ms"),
    ):
        theory = predicted(scheduler, _RATE_RPS, duration_s=_SPAN_S)
        for route, tpot_s in (("theory", theory.p99_tpot_s), ("simulation", _p99_tpot_s(scheduler))):
            holds, found = False, "no answer"
            if tpot_s is not None:
                holds = tpot_s > _STALLED_S if scheduler == "fcfs" else tpot_s < _BOUNDED_S
                found = f"{1e3 * tpot_s:.1f} ms"
            parts.append(Measured(what=f"{what}, {route}", found=found, holds=holds))
    return Finding(parts=tuple(parts))


CLAIM = Claim(
    name="stalls-under-load",
    question="Is p99 TPOT above 400 ms where long prompts go first, and below 60 ms where they are cut?",
    source="Agrawal et al. (2024), Sarathi-Serve, OSDI 24: tail of the time between tokens",
    calibrated="nothing: rtx3050, retrieval load, 10 requests a second for 10 s",
    teaches="prompts do not come before decodes, or a step may hold more than its budget",
    answer=_answer,
)
