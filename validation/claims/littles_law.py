"""The number in a stage is the rate times the time in it, stage by stage."""

from __future__ import annotations

import numpy as np

from ._guide import predicted, simulated
from .claim import Claim, Finding, Measured

__all__ = ["CLAIM"]

_SCHEDULER, _RATE_RPS, _N = "chunked", 1.6, 20_000
_SAME = 1e-9
_AS_PREDICTED = 0.05


def _answer() -> Finding:
    records = simulated(_SCHEDULER, _RATE_RPS, _N)
    steps, span_s = records.steps, records.end_s
    step_s, rate_rps = steps.end_s - steps.start_s, _N / records.end_s
    parts = []
    for stage, counted, time_s in (
        ("running", steps.n_running, records.finish_s - records.first_scheduled_s),
        ("decoding", steps.n_decodes, records.finish_s - records.first_token_s),
    ):
        number, product = float(np.sum(counted * step_s)) / span_s, rate_rps * float(np.mean(time_s))
        what = f"{stage}: requests counted step by step are the rate times their time"
        found = f"{number:.4f} and {product:.4f}"
        parts.append(Measured(what=what, found=found, holds=abs(number - product) < _SAME * product))
    number = float(np.sum(steps.n_waiting * step_s)) / span_s
    product = rate_rps * float(np.mean(records.first_scheduled_s - records.sent_s))
    late = rate_rps * float(np.sum(step_s**2)) / span_s
    what = "waiting: the same, but for those who come within a step and are counted at the next"
    found = f"{number:.3f} and {product:.3f}, at most {late:.3f} apart"
    parts.append(Measured(what=what, found=found, holds=0 <= product - number <= late))
    point = predicted(_SCHEDULER, _RATE_RPS)
    decoding = float(np.sum(steps.n_decodes * step_s)) / span_s
    what = f"theory: the number decoding, within {100 * _AS_PREDICTED:.0f} % of the simulated one"
    found = f"{point.mean_running:.2f} and {decoding:.2f}"
    holds = abs(point.mean_running / decoding - 1) < _AS_PREDICTED
    return Finding(parts=(*parts, Measured(what=what, found=found, holds=holds)))


CLAIM = Claim(
    name="littles-law",
    question="Is the number waiting, running and decoding the rate times the time spent so?",
    source="Little (1961), A proof for the queuing formula L = lambda W, Operations Research 9",
    calibrated="nothing: rtx3050, retrieval load, 1.6 requests a second",
    teaches="a request is lost or counted twice, or steps and requests are on different clocks",
    answer=_answer,
)
