"""What was assumed, above every table: system, limits, load and seed, with every default filled in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from qtheory.basics.units import percent
from qtheory.report import human, pairs
from qtheory.system.scheduler import DISAGGREGATED
from qtheory.system.slo import Slo

from .resolved import load_name

if TYPE_CHECKING:
    from validation.answer import Run

__all__ = ["at_rate", "heading", "limits_text"]

_SAID = {
    "hardware", "tp", "model", "weights", "kv_dtype", "step_time", "scheduler", "budget_tokens", "max_seqs",
    "kv_blocks", "block_tokens", "workload", "arrivals", "rate_rps", "duration_s", "requests", "trace",
    "speed", "ttft_slo_s", "tpot_slo_s", "e2e_slo_s", "seed", "replicas", "router", "load_delay_s",
    "prefill_replicas", "decode_replicas", "link_bytes_per_s", "link_latency_s", "link_shared",
    "layerwise_transfer", "first_token",
    "prefix_cache", "prefix", "conversations", "tenants",
}  # fmt: skip
"""Fields of a scenario that have a place of their own in the heading."""


def limits_text(slo: Slo) -> str:
    """The limits of a good request in words.

    Examples
    --------
    >>> limits_text(Slo(ttft_s=2.0, tpot_s=0.1))
    'TTFT <= 2 s, TPOT <= 100 ms'
    >>> limits_text(Slo())
    'none: every served request is good'
    """
    limits = {"TTFT": slo.ttft_s, "TPOT": slo.tpot_s, "E2E": slo.e2e_s}
    said = [f"{name} <= {human('limit_s', limit)}" for name, limit in limits.items() if limit is not None]
    return ", ".join(said) or "none: every served request is good"


def _hardware(run: Run) -> str:
    card, tp = run.replica.hardware, run.replica.tp
    rate = human("peak_flops_per_s", card.flops_per_s(card.sixteen_bit))
    bandwidth = human("bandwidth_bytes_per_s", card.bandwidth_bytes_per_s)
    facts = f"{human('memory_bytes', card.memory_bytes)}, {bandwidth}, {rate} in {card.sixteen_bit}"
    return (f"{tp} x " if tp > 1 else "") + f"{card.name} ({facts})"


def _model(run: Run) -> str:
    model, roofline = run.replica.model, run.replica.roofline
    weights = roofline.weight_format
    size = human("weight_bytes", model.weight_bytes(weights))
    why = "; default: largest dense Qwen2.5 in a quarter of the memory" if run.scenario.model is None else ""
    return f"{model.name} ({size} of {weights} weights, KV in {roofline.kv_dtype}{why})"


def _step_time(run: Run) -> str:
    if run.scenario.step_time != "roofline":
        return run.scenario.step_time
    card = run.replica.hardware
    shares = (
        f"{human('mfu_frac', card.mfu_frac)} of peak FLOP/s, {human('mbu_frac', card.mbu_frac)} of bandwidth"
    )
    return f"roofline ({shares}, {human('overhead_s', card.overhead_per_step_s)} of host time a step)"


def _kv_memory(run: Run) -> str:
    spec, blocks = run.replica, "block" if run.replica.n_blocks == 1 else "blocks"
    whence = "given" if run.scenario.kv_blocks is not None else "computed"
    return f"{spec.n_blocks:,} {blocks} of {spec.block_tokens} tokens ({whence})"


def _limits_of_steps(runs: Sequence[Run]) -> str:
    budgets = {run.result.scheduler: run.replica.budget_tokens for run in runs}
    if len(set(budgets.values())) == 1:
        tokens = human("budget_tokens", next(iter(budgets.values())))
    else:
        tokens = ", ".join(f"{name} {budget:,}" for name, budget in budgets.items()) + " tokens"
    seqs = dict.fromkeys(run.replica.scheduler.max_seqs for run in runs)
    return f"{tokens} at most; {' or '.join(map(str, seqs))} running requests at most"


def _replicas(run: Run) -> dict[str, object]:
    """A line on the cluster, if there is one."""
    scenario = run.scenario
    if scenario.replicas == 1:
        return {}
    reports = (
        f", which knows their loads every {human('load_delay_s', scenario.load_delay_s)}"
        if scenario.load_delay_s
        else ""
    )
    return {"replicas": f"{scenario.replicas:,}, all alike, behind router {scenario.router}{reports}"}


def _pools(runs: Sequence[Run]) -> dict[str, object]:
    """A line on instances for prefill and decode, if a scheduler has them."""
    if not any(run.replica.scheduler.name == DISAGGREGATED for run in runs):
        return {}
    scenario = runs[0].scenario
    rate = human("bandwidth_bytes_per_s", scenario.link_bytes_per_s)
    late = f" and {human('latency_s', scenario.link_latency_s)}" if scenario.link_latency_s else ""
    between = "one link for all" if scenario.link_shared else "a link for each pair"
    layers = ", sent layer by layer" if scenario.layerwise_transfer else ""
    first = scenario.first_token.replace("_", " ")
    return {
        DISAGGREGATED: f"{scenario.prefill_replicas:,} prefill + {scenario.decode_replicas:,} decode; "
        f"{between} of {rate}{late}{layers}; first token counted at {first}"
    }


def _prefix_cache(runs: Sequence[Run]) -> dict[str, object]:
    """A line on the prefix cache, if any scheduler has one or it was asked for."""
    has = {run.result.scheduler: run.replica.prefix_cache for run in runs}
    if not any(has.values()) and runs[0].scenario.prefix_cache is None:
        return {}
    if runs[0].scenario.prefix_cache is not None:
        return {"prefix cache": "on" if runs[0].scenario.prefix_cache else "off"}
    names = {flag: ", ".join(name for name, on in has.items() if on is flag) for flag in (True, False)}
    off = f"; off for {names[False]} (--prefix-cache turns it on)" if names[False] else ""
    return {"prefix cache": f"on for {names[True]}, which orders by what is cached{off}"}


def _structure(run: Run) -> dict[str, object]:
    """Lines on what requests have in common."""
    structure = run.workload.structure
    talks, prefixes = structure.conversations, " + ".join(map(str, structure.prefixes))
    lines: dict[str, object] = {
        "prompts begin with": prefixes if run.replica.prefix_cache or run.scenario.prefix else "",
        "conversations": f"{talks}; the rate is that of all requests" if talks is not None else "",
        "tenants": " + ".join(map(str, structure.tenants)),
    }
    return {name: text for name, text in lines.items() if text}


def at_rate(runs: Sequence[Run]) -> str:
    """Words for the arrival rate, if the runs have one, and the same; else nothing."""
    rates = {run.result.rate_rps for run in runs}
    rate_rps = rates.pop()
    return f" at {human('rate_rps', rate_rps)}" if not rates and math.isfinite(rate_rps) else ""


def _load(runs: Sequence[Run]) -> str:
    scenario, counts = runs[0].scenario, {run.result.n_requests for run in runs}
    many = f"{min(counts):,}" + (f" to {max(counts):,}" if len(counts) > 1 else "") + " requests"
    many += " in all" if any(run.result.n_replications > 1 for run in runs) else ""
    if scenario.trace is not None:
        return f"trace {scenario.trace}{at_rate(runs)}, {many}"
    return f"{load_name(runs[0])}, {scenario.arrivals}{at_rate(runs)}, {many}"


def _replications(runs: Sequence[Run]) -> str:
    """How many runs a point has, what they claim, and what stands behind the ± of the tables."""
    counts = sorted({run.result.n_replications for run in runs})
    many = f"{counts[0]}" + (f" to {counts[-1]}" if len(counts) > 1 else "")
    finite = all(run.result.kind == "finite run" for run in runs)
    claim = (
        "finite runs: no steady state is claimed"
        if finite
        else "steady state where there is one, without the warm-up"
    )
    if counts == [1] and not any(run.result.limits for run in runs):
        return f"1 replication, so no confidence intervals ({claim})"
    return f"{many} replications of each point ({claim}); ± at {percent(runs[0].result.level or 0)}"


def heading(runs: Sequence[Run]) -> str:
    """Lines that say what the runs of one answer have in common.

    Parameters
    ----------
    runs : sequence of Run
        At least one; they differ in scheduler, rate or speed only.

    Returns
    -------
    str
        Aligned lines, a quantity each.
    """
    run = runs[0]
    lines: dict[str, object] = {
        "hardware": _hardware(run),
        "model": _model(run),
        "step time": _step_time(run),
        "KV memory": _kv_memory(run),
        **_prefix_cache(runs),
        "step": _limits_of_steps(runs),
        **_replicas(run),
        **_pools(runs),
        "load": _load(runs),
        **_structure(run),
        "good request": limits_text(run.workload.slo),
        "runs": _replications(runs),
        "seed": run.scenario.seed,
    }
    others = {name: value for name, value in run.scenario.changed().items() if name not in _SAID}
    if others:
        lines["also"] = ", ".join(f"{name} = {value}" for name, value in others.items())
    stepwise = {run.result.scheduler: run.stepwise for run in runs if run.stepwise is not None}
    if stepwise:
        lines["slow"] = "; ".join(f"{name} runs step by step: {why}" for name, why in stepwise.items())
    return pairs(lines)
