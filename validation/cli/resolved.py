"""What stands behind an answer with every default filled in, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from validation.answer import Run

__all__ = ["about_system", "load_name", "resolved"]

_EFFICIENCIES = ("mfu_frac", "mbu_frac", "overhead_per_step_s", "overhead_per_layer_s")


def about_system(run: Run) -> dict[str, str]:
    """Hardware, model and load of a run by name: what tells rows of different answers apart.

    Parameters
    ----------
    run : Run
    """
    return {
        "hardware": run.replica.hardware.name,
        "model": run.replica.model.name,
        "workload": load_name(run),
    }


def load_name(run: Run) -> str:
    """The trace or the profile that gave the load, or that its lengths are the caller's own.

    Parameters
    ----------
    run : Run
    """
    scenario = run.scenario
    if scenario.trace is not None:
        return scenario.trace
    if scenario.prompt is not None and scenario.output is not None:
        return "own lengths"
    return f"lengths of {scenario.lengths}" if scenario.lengths is not None else scenario.workload


def resolved(runs: Sequence[Run]) -> dict[str, Any]:
    """The scenario of an answer as it was simulated: no default is left open.

    Parameters
    ----------
    runs : sequence of Run
        At least one; they differ in scheduler, rate and speed only.

    Returns
    -------
    dict
        Plain data. Lists for what differs between the runs, in order of appearance; a limit that nobody set
        is None.
    """
    run, spec, scenario, workload = runs[0], runs[0].replica, runs[0].scenario, runs[0].workload
    return {
        **about_system(run),
        "tp": spec.tp,
        "weights": spec.roofline.weight_format,
        "kv_dtype": spec.roofline.kv_dtype,
        "step_time": scenario.step_time,
        **{name: getattr(spec.hardware, name) for name in _EFFICIENCIES},
        "schedulers": _each(runs, lambda one: one.result.scheduler),
        "budget_tokens": {one.result.scheduler: one.replica.budget_tokens for one in runs},
        "max_seqs": run.replica.scheduler.max_seqs,
        "max_model_len_tokens": spec.max_model_len_tokens,
        "kv_blocks": spec.n_blocks,
        "block_tokens": spec.block_tokens,
        "prefix_cache": {one.result.scheduler: one.replica.prefix_cache for one in runs},
        "replicas": scenario.replicas,
        "router": scenario.router,
        "load_delay_s": scenario.load_delay_s,
        "rates_rps": _each(runs, lambda one: one.result.rate_rps),
        "speeds": _each(runs, lambda one: one.result.speed),
        "arrivals": str(workload.arrivals),
        "duration_s": workload.duration_s,
        "requests": workload.n_requests,
        "lengths": {
            "prompt": scenario.prompt,
            "output": scenario.output,
            "mean_prompt_tokens": workload.lengths.mean_prompt_tokens,
            "mean_output_tokens": workload.lengths.mean_output_tokens,
        },
        "prefix": [str(prefix) for prefix in workload.structure.prefixes],
        "conversations": None if workload.structure.conversations is None else scenario.conversations,
        "tenants": [str(tenant) for tenant in workload.structure.tenants],
        "slo": asdict(workload.slo),
        "seed": scenario.seed,
        "replications": _each(runs, lambda one: one.result.n_replications),
        "level": run.result.level,
    }


def _each(runs: Sequence[Run], what: Callable[[Run], Any]) -> list[Any]:
    return list(dict.fromkeys(value for run in runs if (value := what(run)) is not None))
