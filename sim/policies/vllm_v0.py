"""vLLM before its rewrite."""

from __future__ import annotations

from qtheory.system.scheduler import WHOLE_PROMPT_BUDGET_TOKENS, SchedulerSpec

from .composition import PrefillFirst
from .ordering import Fcfs
from .policy import Policy
from .registry import assemble, register

__all__ = ["vllm_v0"]


@register("vllm-v0")
def vllm_v0(spec: SchedulerSpec) -> Policy:
    """vLLM V0: whole prompts first, a watermark, a free block wanted by every decode [1]_.

    V0 also merges equal blocks when they are full; here both copies stay.

    Parameters
    ----------
    spec : SchedulerSpec
        Options; those not given have the defaults of the engine.

    References
    ----------
    .. [1] vLLM, ``core/scheduler.py``, last releases before its removal.

    Examples
    --------
    >>> vllm_v0(SchedulerSpec(name="vllm-v0")).watermark_frac
    0.01
    """
    return assemble(
        spec,
        composition=PrefillFirst(),
        ordering=Fcfs(),
        budget_tokens=WHOLE_PROMPT_BUDGET_TOKENS,
        admission="full_prompt",
        prefill_alloc="full",
        watermark_frac=0.01,
        watermark_scope="always",
        append_rule="conservative",
        victim="last_admitted",
        preemption="recompute",
        on_unfit="head",
        cache_commit="step_end",
    )
