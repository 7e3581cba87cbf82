"""In order of arrival goodput falls from nearly all to nearly nothing around the limit."""

from __future__ import annotations

from qtheory.predict import Prediction

from ._guide import goodput_frac, predicted
from .claim import Claim, Finding, Measured

__all__ = ["CLAIM"]

_SCHEDULER, _HALF_RPS, _ABOVE_RPS = "fcfs", 1.0, 3.0
_SPAN_S = 1200.0
_MOST, _FEW = 0.95, 0.05


def _answer() -> Finding:
    half: Prediction = predicted(_SCHEDULER, _HALF_RPS)
    above = predicted(_SCHEDULER, _ABOVE_RPS, duration_s=_SPAN_S)
    n = round(_ABOVE_RPS * _SPAN_S)
    sides = (
        (f"{_HALF_RPS:g} req/s, {half.load_frac:.0%} of the limit", half, _HALF_RPS, True),
        (f"{_ABOVE_RPS:g} req/s, {above.load_frac:.0%} of the limit", above, _ABOVE_RPS, False),
    )
    parts = []
    for where, theory, rate_rps, is_below in sides:
        for route, share in (
            ("theory", theory.goodput_frac),
            ("simulation", goodput_frac(_SCHEDULER, rate_rps, n)),
        ):
            what = f"{where}, {route}: {f'at least {_MOST:.0%}' if is_below else f'at most {_FEW:.0%}'} good"
            holds = share >= _MOST if is_below else share <= _FEW
            parts.append(Measured(what=what, found=f"{share:.1%}", holds=holds))
    return Finding(parts=tuple(parts))


CLAIM = Claim(
    name="fcfs-cliff",
    question="In order of arrival, are nearly all requests good at half the limit and nearly none above it?",
    source="Kwon et al. (2023), PagedAttention, SOSP 23, figure 12; Zhong et al. (2024), DistServe, OSDI 24",
    calibrated="nothing: rtx3050, retrieval load, 20 minutes",
    teaches="the queue forgets, or something is shed that should wait",
    answer=_answer,
)
