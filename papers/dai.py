"""Dai et al. (2025): the load that rules take which fill every step, if its tokens alone set its time."""

from __future__ import annotations

from qtheory.predict import limit_rps, predict
from qtheory.predict.demand import demand_of
from qtheory.predict.inputs import engine_of
from qtheory.predict.limits import Limit, Rule, limit_of
from qtheory.system.replica import ReplicaSpec, replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload import Workload
from qtheory.system.workload.from_scenario import workload_of

from ._answers import given
from .table import Row, Table

__all__ = ["tables"]

BASE_S, STAIR_S, STAIR_TOKENS = 0.01128, 0.03547, 128
"""CodeLlama-34B on A100: a step takes the base and a stair for every 128 tokens or part of them."""
LIMITS_RPS = {(100, 100): "16.715", (129, 112): "13.871"}
VERTEX = (290, 990)
"""Prompt and output tokens of the case in which requests come every 467.5 ms and at most 100 run."""
_ABOVE = 1.1
_SPANS_S = (1200.0, 2400.0)
_SEEN = 0.0005  # of the fluid's growth: part of its spread is still building up


def _world(lengths: tuple[int, int], budget_tokens: int, max_seqs: int) -> tuple[ReplicaSpec, Workload]:
    """A replica whose full steps take the paper's times; its outputs have no first token."""
    prompt, output = lengths
    scenario = Scenario(
        hardware="a100",
        model="llama-3.1-8b",
        scheduler="chunked",
        step_time=f"linear(base_s={BASE_S},per_token_s={STAIR_S / STAIR_TOKENS!r})",
        prompt=f"constant({prompt})",
        output=f"constant({output + 1})",
        budget_tokens=budget_tokens,
        max_seqs=max_seqs,
        kv_blocks=1_000_000,
        rate_rps=1.0,
    )
    return replica_of(scenario), workload_of(scenario)


def _vertex() -> Limit:
    """Limit of the case above with a budget of one stair."""
    replica, workload = _world(VERTEX, STAIR_TOKENS, 100)
    return limit_of(engine_of(replica, demand_of(workload)), Rule(mixed=True))


def _growth_tokens_per_ms() -> float:
    """Tokens that the backlog grows by, between two moments, at a rate above the limit."""
    lengths = (100, 100)
    replica, workload = _world(lengths, 512, 4096)
    rate_rps = _ABOVE * limit_rps(replica, workload)
    first, second = (
        given(predict(replica, workload, rate_rps=rate_rps, duration_s=span_s).end_backlog)
        for span_s in _SPANS_S
    )
    return sum(lengths) * (second - first) / (1e3 * (_SPANS_S[1] - _SPANS_S[0]))


def tables() -> tuple[Table, ...]:
    """Limits, the case that just fits, and the growth above the limit."""
    limits = [
        Row(
            case=f"{prompt} + {output} tokens, budget 512: limit, requests/s",
            source=said,
            ours=limit_rps(*_world((prompt, output), 512, 4096)),
            origin="recomputed",
        )
        for (prompt, output), said in LIMITS_RPS.items()
    ]
    vertex = _vertex()
    fits = [
        Row(
            case="290 + 990 tokens, budget 128, 100 slots: time between requests at the limit, ms",
            source="467.5",
            ours=1e3 / vertex.rate_rps,
            origin="code",
        ),
        Row(case="the same: decodes in a step", source="99", ours=vertex.running, origin="code"),
        Row(case="the same: prompt tokens", source="29", ours=128 - vertex.running, origin="code"),
    ]
    growth = Row(
        case="100 + 100 tokens at 1.1 of the limit: growth of the backlog, tokens/ms",
        source="0.3343",
        ours=_growth_tokens_per_ms(),
        origin="recomputed",
        within=_SEEN,
    )
    return (
        Table(name="limits", rows=tuple(limits)),
        Table(name="just-fits", rows=tuple(fits)),
        Table(name="growth", rows=(growth,)),
    )
