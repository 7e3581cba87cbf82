"""The formulas behind a knee, with the numbers in them."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics.errors import ConfigError
from qtheory.predict import Prediction, predict
from qtheory.predict.demand import demand_of
from qtheory.predict.inputs import Engine, engine_of
from qtheory.system.replica import ReplicaSpec
from qtheory.system.workload import Workload

from .marks import Knee

__all__ = ["Line", "explained"]

_STEP_BY_STEP = ("fcfs", "chunked", "slo", "sjf")  # new requests join at any step; the formulas are of these


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One formula.

    Parameters
    ----------
    what : str
    formula : str
    numbers : str
        The same with numbers, and what comes out.

    Examples
    --------
    >>> Line(what="running", formula="rate x d x gap", numbers="8 x 200 x 0.05 s = 80").what
    'running'
    """

    what: str
    formula: str
    numbers: str


def explained(replica: ReplicaSpec, workload: Workload, found: Knee) -> list[Line]:
    """What happens at the knee, to first order, in formulas that can be checked by hand.

    The models add queueing, batching and the spread of lengths to these means; their own answers stand
    beside.

    Parameters
    ----------
    replica : ReplicaSpec
        With the scheduler that the knee is of.
    workload : Workload
    found : Knee
        By theory, with a knee.

    Raises
    ------
    ConfigError
        If there is no knee to explain.

    Examples
    --------
    >>> from qtheory.planning.knee import knee
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload.from_scenario import workload_of
    >>> scenario = Scenario(hardware="a100", model="llama-3.1-8b", workload="chat")
    >>> spec, workload = replica_of(scenario), workload_of(scenario)
    >>> lines = explained(spec, workload, knee(spec, workload, tier="closed"))
    >>> lines[0].what, lines[-1].what
    ('a request', 'good at the knee')
    """
    rate = found.predicted_rps or found.knee_rps
    if rate is None:
        raise ConfigError(f"scheduler: {found.scheduler} has no knee to explain")
    engine = engine_of(replica, demand_of(workload))
    point = predict(replica, workload, rate_rps=rate, tier="closed")
    s, d = engine.demand.mean_prompt, engine.demand.mean_decode
    first = Line(
        what="a request",
        formula="s prompt tokens, d decode steps, means",
        numbers=f"s = {s:,.0f}, d = {d:,.0f}",
    )
    if replica.scheduler.name not in _STEP_BY_STEP:
        return [first, _good(workload, point, found)]
    return [first, *_steps(engine, point), _limit(engine, found), _good(workload, point, found)]


def _steps(engine: Engine, point: Prediction) -> list[Line]:
    """From the step to the number running, by means."""
    rate, n = point.rate_rps, max(point.mean_decoding, 1.0)
    s, d = engine.demand.mean_prompt, engine.demand.mean_decode
    step_s, token_s = engine.decode_s(n), _token_s(engine, n)
    work = rate * s * token_s
    gap_s = step_s / (1 - work) if work < 1 else float("inf")
    return [
        Line(what="decode step", formula="V(n) for n running", numbers=f"V({n:.0f}) = {1e3 * step_s:.3g} ms"),
        Line(
            what="prompt token",
            formula="c = (step with prompts - V(n)) / tokens",
            numbers=f"c = {1e6 * token_s:.3g} us",
        ),
        Line(
            what="prompt work",
            formula="w = rate s c",
            numbers=f"{rate:.4g} x {s:,.0f} x {1e6 * token_s:.3g} us = {work:.3f}",
        ),
        Line(
            what="gap between tokens",
            formula="V(n) / (1 - w)",
            numbers=f"{1e3 * step_s:.3g} ms / (1 - {work:.3f}) = {1e3 * gap_s:.3g} ms"
            f"{_model(point.mean_itl_s)}",
        ),
        Line(
            what="running",
            formula="n = rate d gap",
            numbers=f"{rate:.4g} x {d:,.0f} x {1e3 * gap_s:.3g} ms = {rate * d * gap_s:.0f} (model {n:.0f})",
        ),
    ]


def _token_s(engine: Engine, n: float) -> float:
    """Seconds that a prompt token adds to a step of ``n`` decodes, in a large step."""
    tokens = max(min(engine.budget_tokens - n, 4 * engine.demand.mean_prompt), 1.0)
    return (engine.step_s(tokens, n) - engine.decode_s(n)) / tokens


def _model(seconds: float | None) -> str:
    return "" if seconds is None else f" (model {1e3 * seconds:.3g} ms)"


def _limit(engine: Engine, found: Knee) -> Line:
    """The rate at which the server is never idle: by the budget, or by the places."""
    demand, model = engine.demand, f" (model {found.limit_rps or 0:.4g})"
    s, d = demand.mean_prompt, demand.mean_decode
    if found.binds == "token budget":
        budget = engine.budget_tokens
        n = d * budget / (s + d)
        step_s = engine.step_s(budget - n, n)
        return Line(
            what="limit: budget binds",
            formula="(B - n) / (s T(B)), n = d B / (s + d)",
            numbers=f"({budget:,} - {n:.0f}) / ({s:,.0f} x {1e3 * step_s:.3g} ms) = "
            f"{(budget - n) / (s * step_s):.4g} req/s{model}",
        )
    places = engine.slots
    token_s, step_s = _token_s(engine, places), engine.decode_s(places)
    rate = 1 / (s * token_s + d * step_s / places)
    return Line(
        what=f"limit: {found.binds} bind" + ("s" if found.binds == "KV memory" else ""),
        formula="1 / (s c + d V(K) / K), K places",
        numbers=f"1 / ({1e3 * s * token_s:.3g} ms + {d:,.0f} x {1e3 * step_s:.3g} ms / {places:.0f}) = "
        f"{rate:.4g} req/s{model}",
    )


def _good(workload: Workload, point: Prediction, found: Knee) -> Line:
    """Shares by closed forms, beside the one that the knee is at by the tier that found it."""
    slo, is_closed = workload.slo, "numeric" not in found.answered_by
    whose = "" if is_closed else f", {100 * found.goodput_frac:.4g} % by the numeric tier, whose knee this is"
    parts = [
        f"{word} <= {limit:g} s: {100 * share:.1f} %"
        for word, limit, share in (
            ("TTFT", slo.ttft_s, point.ttft_good_frac),
            ("TPOT", slo.tpot_s, point.tpot_good_frac),
        )
        if limit is not None
    ]
    together = f"together {100 * point.goodput_frac:.1f} % by closed forms{whose}"
    return Line(
        what="good at the knee",
        formula="share within every limit",
        numbers=f"{', '.join(parts) or 'no limit'}; {together}",
    )
