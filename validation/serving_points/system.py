"""What serves a measured point: the replica with the host time of its engine."""

from __future__ import annotations

from dataclasses import replace

from qtheory.system.replica import ReplicaSpec, replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.steptime.host import HostTime

from .engines import EngineSetting
from .points import Point

__all__ = ["is_kv_bound", "scenario_of", "system_of"]


def scenario_of(point: Point, setting: EngineSetting) -> Scenario:
    """Names and lengths of a point.

    Examples
    --------
    >>> from .engines import ENGINES
    >>> point = Point(line=2, engine="vllm", model="qwen3-32b", hardware="h100", tp=2, prompt_tokens=1024,
    ...     output_tokens=128, in_flight=8, ttft_s=0.154, tpot_s=0.018)
    >>> scenario_of(point, ENGINES["vllm"]).output
    'uniform(low=115,high=141)'
    """
    mean, spread = point.output_tokens, setting.output_spread
    low, high = round(mean * (1 - spread)), round(mean * (1 + spread))
    return Scenario(
        hardware=point.hardware,
        model=point.model,
        tp=point.tp,
        scheduler=setting.scheduler,
        budget_tokens=setting.budget_tokens,
        max_seqs=setting.max_seqs,
        prompt=f"constant({point.prompt_tokens})",
        output=f"uniform(low={low},high={high})" if low < high else f"constant({mean})",
    )


def system_of(point: Point, setting: EngineSetting) -> ReplicaSpec:
    """The replica of a point; its step time holds the host time of the engine.

    Raises
    ------
    ConfigError
        If the model does not fit into the memory of the accelerators.

    Examples
    --------
    >>> from .engines import ENGINES
    >>> point = Point(line=2, engine="vllm", model="qwen3-32b", hardware="h100", tp=2, prompt_tokens=1024,
    ...     output_tokens=128, in_flight=8, ttft_s=0.154, tpot_s=0.018)
    >>> system_of(point, ENGINES["vllm"]).budget_tokens
    8192
    """
    spec = replica_of(scenario_of(point, setting))
    host = HostTime(
        device=spec.step_time, per_step_s=setting.per_step_s, per_sequence_s=setting.per_sequence_s
    )
    return replace(spec, step_time=host)


def is_kv_bound(point: Point, spec: ReplicaSpec) -> bool:
    """Whether memory does not hold all requests in flight at their full length.

    Examples
    --------
    >>> from .engines import ENGINES
    >>> point = Point(line=2, engine="vllm", model="qwen3-32b", hardware="h100", tp=2, prompt_tokens=4096,
    ...     output_tokens=1024, in_flight=128, ttft_s=59.0, tpot_s=0.055)
    >>> is_kv_bound(point, system_of(point, ENGINES["vllm"]))
    True
    """
    each = -(-(point.prompt_tokens + point.output_tokens) // spec.block_tokens)
    return point.in_flight * each > spec.n_blocks
