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
    decoding = float(np.sum(steps.n_decodes * step_s)) / span_s
    sent_s = records.sent_s
    until_first = rate_rps * float(np.mean(records.first_token_s - sent_s))
    in_all = rate_rps * float(np.mean(records.finish_s - sent_s))
    return Finding(parts=(*parts, *_by_theory(until_first, decoding, in_all)))


def _by_theory(until_first: float, decoding: float, in_all: float) -> list[Measured]:
    """Numbers in the stages as theory has them, its rate times its times, beside the simulated ones."""
    point = predicted(_SCHEDULER, _RATE_RPS)
    stages = {
        "until the first token": (_RATE_RPS * point.mean_ttft_s, until_first),
        "decoding": (point.mean_decoding, decoding),
        "in all": (_RATE_RPS * point.mean_e2e_s, in_all),
    }
    parts = []
    for stage, (theory, counted) in stages.items():
        what = f"theory: the number {stage}, within {100 * _AS_PREDICTED:.0f} % of the simulated one"
        holds = abs(theory / counted - 1) < _AS_PREDICTED
        parts.append(Measured(what=what, found=f"{theory:.2f} and {counted:.2f}", holds=holds))
    before_and_after = _RATE_RPS * point.mean_ttft_s + point.mean_decoding
    what = "theory: those until the first token and those decoding are all, within 1 %"
    found = f"{before_and_after:.3f} and {_RATE_RPS * point.mean_e2e_s:.3f}"
    holds = abs(before_and_after / (_RATE_RPS * point.mean_e2e_s) - 1) < 0.01
    return [*parts, Measured(what=what, found=found, holds=holds)]


CLAIM = Claim(
    name="littles-law",
    question="Is the number waiting, running and decoding the rate times the time spent so?",
    source="Little (1961), A proof for the queuing formula L = lambda W, Operations Research 9",
    calibrated="nothing: rtx3050, retrieval load, 1.6 requests a second",
    teaches="a request is lost or counted twice, or steps and requests are on different clocks",
    answer=_answer,
)
