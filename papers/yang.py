"""Yang, Xu, Jiao (2024): limits on the output length of a server that serves one request at a time."""

from __future__ import annotations

import math

from qtheory.laws import Law, Lognormal, Rounded, Shifted
from qtheory.queues.single import MG1, BoundedWorkload

from ._answers import mean_wait_s
from .table import Row, Table

__all__ = ["tables"]

LOG_MEAN, LOG_SD = 7.0, 0.7
"""Output tokens are lognormal with these parameters of their logarithm."""
TOKEN_S = 0.0225
"""Seconds a token; not in the paper, chosen to put the wait at 1600 tokens near the 23 s of its figure."""
RATE_RPS, IMPATIENT_RATE_RPS, PATIENCE_S = 1 / 40, 1 / 25, 60.0


def _tokens() -> Lognormal:
    return Lognormal(mean=math.exp(LOG_MEAN + LOG_SD**2 / 2), cv=math.sqrt(math.expm1(LOG_SD**2)))


def _service(most_tokens: int) -> Law:
    """Seconds of a request cut at so many tokens; a token begun is a token."""
    begun = Shifted(law=_tokens(), shift=0.5)
    return Rounded(law=begun, high=most_tokens).scaled(TOKEN_S)


def _wait_s(most_tokens: int) -> float:
    return mean_wait_s(MG1(rate_rps=RATE_RPS, service=_service(most_tokens)))


def tables() -> tuple[Table, ...]:
    """Waits with two limits, and the share of users who give up."""
    short, long = _wait_s(1600), _wait_s(3000)
    saved = 100.0 * (1.0 - short / long)
    below = 100.0 * float(_tokens().cdf(1600.0))
    impatient = BoundedWorkload(
        rate_rps=IMPATIENT_RATE_RPS, service=_service(1300), limit_s=PATIENCE_S, rule="wait"
    )
    delay = (
        Row(case="limit 1600: mean wait, s", source="22.34", ours=short, origin="recomputed"),
        Row(case="limit 3000: mean wait, s", source="55.37", ours=long, origin="recomputed"),
        Row(case="1600 instead of 3000 saves, %", source="59.65", ours=saved, origin="recomputed"),
        Row(case="the same", source="58.93", ours=saved, origin="read", within=1.0),
        Row(case="limit 1600: mean wait, s", source="23", ours=short, origin="read", within=1.0),
        Row(case="requests below 1600 tokens, %", source="70.53", ours=below, origin="read"),
        Row(
            case="60 s of patience, limit 1300: share that leaves",
            source="0.12",
            ours=impatient.solve().prob_block,
            origin="read",
            within=0.015,
        ),
    )
    return (Table(name="delay", rows=delay),)
