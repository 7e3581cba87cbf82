"""TensorRT-LLM."""

from __future__ import annotations

from qtheory.system.scheduler import SchedulerSpec

from .chunked import cut_or_whole
from .ordering import Fcfs
from .policy import Policy
from .registry import assemble, register

__all__ = ["trtllm"]


@register("trtllm")
def trtllm(spec: SchedulerSpec) -> Policy:
    """TensorRT-LLM: decodes and context chunks together, memory to completion for all that are let in [1]_.

    That is its capacity policy GUARANTEED_NO_EVICT; with ``admission="full_prompt"`` it is MAX_UTILIZATION,
    which pauses the request that was started last when memory runs out.

    Parameters
    ----------
    spec : SchedulerSpec
        Options; those not given have the defaults of the engine.

    References
    ----------
    .. [1] TensorRT-LLM, ``batch_manager`` capacity and micro-batch schedulers, 2026.

    Examples
    --------
    >>> trtllm(SchedulerSpec(name="trtllm")).in_batch
    'skip'
    """
    return assemble(
        spec,
        composition=cut_or_whole(spec),
        ordering=Fcfs(),
        takes=("chunked_prefill",),
        admission="no_evict",
        append_rule="exact",
        victim="last_admitted",
        preemption="recompute",
        cache_commit="step_end",
        in_batch="skip",
    )
