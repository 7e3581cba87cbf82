"""A conversation load from below the limit to beyond it: the share of good requests of three schedulers."""

from __future__ import annotations

from ._guide import goodput_frac, predicted
from .claim import Claim, Finding, Measured

__all__ = ["CLAIM"]

_LOAD = "chat"
_BELOW_RPS, _NEAR_RPS, _ABOVE_RPS = 5.0, 6.0, 10.0
_SPAN_S = 60.0
_NEARLY_ALL, _COLLAPSED, _MORE = 0.95, 0.40, 0.2
_MANY = 3_000  # requests below the limit, where one run is to stand for the steady state


def _answer() -> Finding:
    parts, notes, above = [], [], {}
    n = round(_ABOVE_RPS * _SPAN_S)
    for scheduler in ("fcfs", "chunked", "slo"):
        below, near = _steady(scheduler, _BELOW_RPS), _steady(scheduler, _NEAR_RPS)
        said = ", ".join(f"{share:.1%} by {route}" for route, share in near.items())
        notes.append(f"{scheduler} at {_NEAR_RPS:g} requests a second: {said}")
        above[scheduler] = {
            "theory": predicted(scheduler, _ABOVE_RPS, duration_s=_SPAN_S, workload=_LOAD).goodput_frac,
            "simulation": goodput_frac(scheduler, _ABOVE_RPS, n, _LOAD),
        }
        for route, share in below.items():
            what = (
                f"{scheduler} at {_BELOW_RPS:g} requests a second, {route}: at least {_NEARLY_ALL:.0%} good"
            )
            parts.append(Measured(what=what, found=f"{share:.1%}", holds=share >= _NEARLY_ALL))
    for route, share in above["fcfs"].items():
        what = f"fcfs at {_ABOVE_RPS:g} for a minute, {route}: at most {_COLLAPSED:.0%} good"
        parts.append(Measured(what=what, found=f"{share:.1%}", holds=share <= _COLLAPSED))
        best = above["slo"][route]
        least = max(share, above["chunked"][route]) + _MORE
        what = f"slo at {_ABOVE_RPS:g}, {route}: at least {100 * _MORE:.0f} points more than either"
        parts.append(Measured(what=what, found=f"{best:.1%}", holds=best >= least))
    return Finding(parts=tuple(parts), notes=tuple(notes))


def _steady(scheduler: str, rate_rps: float) -> dict[str, float]:
    """Share of good requests below the limit, by both routes."""
    return {
        "theory": predicted(scheduler, rate_rps, workload=_LOAD).goodput_frac,
        "simulation": goodput_frac(scheduler, rate_rps, _MANY, _LOAD),
    }


CLAIM = Claim(
    name="goodput-over-rates",
    question="Are nearly all good at 5 requests a second, and at 10 few in order of arrival, many with slo?",
    source="Zhong et al. (2024), DistServe, OSDI 24: goodput; Kwon et al. (2023), PagedAttention, SOSP 23",
    calibrated="nothing: rtx3050, conversation load, limits of 2 s and 200 ms",
    teaches="the limit is not between them, or shedding does not keep the rest good",
    answer=_answer,
)
