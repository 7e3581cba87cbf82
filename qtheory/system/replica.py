"""From a scenario's names to one replica: accelerator, model, step times, KV memory, limits."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws import Call, parse_call

from .hardware import Hardware, find_hardware
from .memory import kv_blocks
from .models import KV_BYTES, WEIGHT_BYTES, ModelSpec, default_model, find_model
from .pools import PoolSpec
from .scenario import Scenario
from .scheduler import DISAGGREGATED, WHOLE_PROMPT_BUDGET_TOKENS, SchedulerSpec
from .scheduler_text import orders_by_prefix, parse_scheduler
from .specfile import build
from .steptime import Linear, Roofline, StepTime, read_table
from .workload.structure_parse import parse_tenants

__all__ = ["ReplicaSpec", "replica_of"]

_HARDWARE_FIELDS = ("mfu_frac", "mbu_frac", "overhead_per_step_s", "overhead_per_layer_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaSpec:
    """What serves, with every default filled in.

    Parameters
    ----------
    hardware : Hardware
        One accelerator.
    model : ModelSpec
        What it serves.
    tp : int
        Accelerators that share every layer, >= 1.
    roofline : Roofline
        Step time by the datasheet; also what MFU and MBU are measured with.
    step_time : StepTime
        The one in use.
    scheduler : SchedulerSpec
        With ``budget_tokens`` and ``max_seqs`` filled in.
    n_blocks, block_tokens : int
        Blocks of KV memory and tokens in each, >= 1.
    max_model_len_tokens : int
        Longest prompt plus output, >= 1.
    prefix_cache : bool
        Whether blocks of prompts that begin alike are reused.
    pools : PoolSpec, optional
        How many such instances there are where prefill and decode are apart, and the links.

    Examples
    --------
    >>> spec = replica_of(Scenario(hardware="h100", model="llama-3.1-8b", tp=2))
    >>> spec.scheduler.name, spec.budget_tokens, spec.max_model_len_tokens
    ('chunked', 2048, 131072)
    """

    hardware: Hardware
    model: ModelSpec
    tp: int
    roofline: Roofline
    step_time: StepTime
    scheduler: SchedulerSpec
    n_blocks: int
    block_tokens: int
    max_model_len_tokens: int
    prefix_cache: bool = False
    pools: PoolSpec | None = None

    @property
    def budget_tokens(self) -> int:
        """Tokens of a step at most."""
        return self.scheduler.budget_tokens or 0


def _step_time(text: str, roofline: Roofline) -> StepTime:
    if text == "roofline":
        return roofline
    if os.path.exists(text):  # unlike Path.exists this never raises
        return read_table(Path(text))
    if "(" in text:
        call = parse_call(text, where="step_time")
        if not isinstance(call, Call) or call.name != "linear" or call.args:
            raise ConfigError(f"step_time: {checks.shown(text)} is not linear(base_s=.., per_token_s=..)")
        for name, value in call.named.items():
            checks.one_of("step_time: linear", name, Linear.__slots__)
            if isinstance(value, Call):
                raise ConfigError(
                    f"step_time: linear: {name}: {checks.shown(value.name)} is not a number of seconds"
                )
        return build(Linear, call.named, "step_time: linear")
    if Path(text).suffix:
        return read_table(Path(text))
    raise ConfigError(
        f"step_time: unknown {checks.shown(text)}{checks.nearest(text, ('roofline', 'linear'))}; "
        "roofline, linear(base_s=...) or the file of a table"
    )


def replica_of(scenario: Scenario) -> ReplicaSpec:
    """The replica that a scenario describes.

    Parameters
    ----------
    scenario : Scenario
        Names and numbers; what is None gets its default here.

    Returns
    -------
    ReplicaSpec

    Raises
    ------
    ConfigError
        If a name is unknown, a file cannot be read, or the model does not fit into memory.

    Examples
    --------
    >>> spec = replica_of(Scenario(hardware="rtx3050"))
    >>> spec.model.name, spec.budget_tokens
    ('qwen2.5-0.5b', 512)
    """
    hardware = find_hardware(scenario.hardware)
    own = {name: getattr(scenario, name) for name in _HARDWARE_FIELDS}
    hardware = replace(hardware, **{name: value for name, value in own.items() if value is not None})
    model = find_model(scenario.model) if scenario.model is not None else default_model(hardware)
    if scenario.weights is not None:
        checks.one_of("weights", scenario.weights, WEIGHT_BYTES)
    checks.one_of("kv_dtype", scenario.kv_dtype, KV_BYTES)
    roofline = Roofline(
        hardware=hardware, model=model, tp=scenario.tp, weights=scenario.weights, kv_dtype=scenario.kv_dtype
    )
    n_blocks = scenario.kv_blocks or kv_blocks(
        hardware,
        model,
        tp=scenario.tp,
        weights=scenario.weights,
        kv_dtype=scenario.kv_dtype,
        memory_frac=scenario.memory_frac,
        block_tokens=scenario.block_tokens,
    )
    in_memory = n_blocks * scenario.block_tokens + 1  # the last token is never stored
    longest = scenario.max_model_len_tokens or min(model.max_context or in_memory, in_memory)
    scheduler = _scheduler(scenario, hardware, longest)
    given = scenario.prefix_cache
    return ReplicaSpec(
        hardware=hardware,
        model=model,
        tp=scenario.tp,
        roofline=roofline,
        step_time=_step_time(scenario.step_time, roofline),
        scheduler=scheduler,
        n_blocks=n_blocks,
        block_tokens=scenario.block_tokens,
        max_model_len_tokens=longest,
        prefix_cache=orders_by_prefix(scheduler) if given is None else given,
        pools=_pools(scenario) if scheduler.name == DISAGGREGATED else None,
    )


def _pools(scenario: Scenario) -> PoolSpec:
    return PoolSpec(
        n_prefill=scenario.prefill_replicas,
        n_decode=scenario.decode_replicas,
        link_bytes_per_s=scenario.link_bytes_per_s,
        link_latency_s=scenario.link_latency_s,
        link_shared=scenario.link_shared,
        layerwise_transfer=scenario.layerwise_transfer,
        first_token=scenario.first_token,
        router=scenario.router if "router" in scenario.changed() else "least_requests",
    )


def _scheduler(scenario: Scenario, hardware: Hardware, longest: int) -> SchedulerSpec:
    names = ("long_prefill_threshold_tokens", "admission", "watermark_frac", "append_rule", "victim", "shed")
    given = {name: getattr(scenario, name) for name in names}
    spec = parse_scheduler(
        scenario.scheduler, budget_tokens=scenario.budget_tokens, max_seqs=scenario.max_seqs, **given
    )
    if spec.name == "fair" and spec.client_weights is None and scenario.tenants is not None:
        weights = tuple(tenant.weight for tenant in parse_tenants(scenario.tenants))
        spec = replace(spec, client_weights=weights)
    if spec.budget_tokens is not None:
        return spec
    budget = min(longest, WHOLE_PROMPT_BUDGET_TOKENS) if spec.whole_prompts else hardware.budget_tokens
    return replace(spec, budget_tokens=budget)
