"""Giving up what would be late keeps the rest good above the limit."""

from __future__ import annotations

from ._guide import goodput_frac, predicted
from .claim import Claim, Finding, Measured

__all__ = ["CLAIM"]

_RATE_RPS, _SPAN_S = 2.6, 2400.0
_KEPT, _LEFT = 0.5, 0.1


def _answer() -> Finding:
    n = round(_RATE_RPS * _SPAN_S)
    parts = []
    for scheduler in ("slo", "fcfs", "chunked"):
        sheds = scheduler == "slo"
        theory = predicted(scheduler, _RATE_RPS, duration_s=None if sheds else _SPAN_S)
        for route, share in (
            ("theory", theory.goodput_frac),
            ("simulation", goodput_frac(scheduler, _RATE_RPS, n)),
        ):
            what = (
                f"{scheduler}, {route}: {f'at least {_KEPT:.0%}' if sheds else f'at most {_LEFT:.0%}'} good"
            )
            holds = share >= _KEPT if sheds else share <= _LEFT
            parts.append(Measured(what=what, found=f"{share:.1%}", holds=holds))
    return Finding(parts=tuple(parts))


CLAIM = Claim(
    name="shedding-above-the-limit",
    question="Above the limit, does shedding what would be late keep most good where waiting keeps none?",
    source="Sheng et al. (2024), S-LoRA, MLSys 24: early abort under overload",
    calibrated="nothing: rtx3050, retrieval load, 2.6 requests a second for 40 minutes",
    teaches="what is late is served before what can still be good",
    answer=_answer,
)
