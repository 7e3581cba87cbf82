"""Above the limit the queue grows as long as requests come."""

from __future__ import annotations

import numpy as np

from qtheory.basics.errors import UnstableError

from ._guide import predicted, simulated
from .claim import Claim, Finding, Measured

__all__ = ["CLAIM"]

_SCHEDULER, _RATE_RPS = "chunked", 3.2
_SPANS_S = (300.0, 600.0, 1200.0)
_AS_PREDICTED = 0.15


def _backlog(span_s: float) -> float:
    """Requests that wait when the last one of a simulated run comes."""
    records = simulated(_SCHEDULER, _RATE_RPS, round(_RATE_RPS * span_s))
    return float(np.sum(records.first_scheduled_s > records.sent_s[-1]))


def _answer() -> Finding:
    try:
        predicted(_SCHEDULER, _RATE_RPS)
        said = "a steady state"
    except UnstableError:
        said = "none"
    parts = [
        Measured(
            what="theory has no steady state at a third above its limit", found=said, holds=said == "none"
        )
    ]
    found = [_backlog(span_s) for span_s in _SPANS_S]
    for span_s, backlog in zip(_SPANS_S, found, strict=True):
        theory = predicted(_SCHEDULER, _RATE_RPS, duration_s=span_s).end_backlog or 0.0
        what = f"after {span_s:.0f} s theory's backlog is within {100 * _AS_PREDICTED:.0f} % of the simulated"
        holds = abs(theory / backlog - 1) < _AS_PREDICTED
        parts.append(Measured(what=what, found=f"{theory:.0f} and {backlog:.0f}", holds=holds))
    ratio = found[2] / found[0]
    what = "four times as long, four times as many wait (3 to 5)"
    return Finding(parts=(*parts, Measured(what=what, found=f"{ratio:.2f}", holds=3 < ratio < 5)))


CLAIM = Claim(
    name="overload-grows",
    question="Does the queue grow without end above the limit, at the rate that theory says?",
    source="Kleinrock (1976), Queueing Systems II: fluid approximation of queues",
    calibrated="nothing: rtx3050, retrieval load, 3.2 requests a second",
    teaches="the limit is not where theory puts it, or the overload is not a fluid",
    answer=_answer,
)
