"""vLLM."""

from __future__ import annotations

from qtheory.system.scheduler import SchedulerSpec

from .chunked import cut_or_whole
from .ordering import Fcfs
from .policy import Policy
from .registry import assemble, register

__all__ = ["vllm"]


@register("vllm")
def vllm(spec: SchedulerSpec) -> Policy:
    """vLLM V1: chunked prefill, admission by the whole prompt, blocks shared as soon as scheduled [1]_.

    Parameters
    ----------
    spec : SchedulerSpec
        Options; those not given have the defaults of the engine.

    References
    ----------
    .. [1] vLLM, ``v1/core/sched/scheduler.py``, August 2026.

    Examples
    --------
    >>> vllm(SchedulerSpec(name="vllm")).cache_commit
    'schedule'
    """
    return assemble(
        spec,
        composition=cut_or_whole(spec),
        ordering=Fcfs(),
        takes=("chunked_prefill",),
        admission="full_prompt",
        watermark_frac=0.0,
        watermark_scope="busy",
        append_rule="exact",
        victim="last_admitted",
        preemption="recompute",
        cache_commit="schedule",
    )
