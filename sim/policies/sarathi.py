"""Sarathi-Serve."""

from __future__ import annotations

from qtheory.system.scheduler import SchedulerSpec

from .composition import Chunked
from .ordering import Fcfs
from .policy import Policy
from .registry import assemble, register

__all__ = ["sarathi"]


@register("sarathi")
def sarathi(spec: SchedulerSpec) -> Policy:
    """Sarathi-Serve: chunked prefill, but the blocks of a whole prompt are taken at its admission [1]_.

    Its order within a step, decodes, then the unfinished prompt, then new ones, is that of admission as long
    as the budget holds the decodes.

    Parameters
    ----------
    spec : SchedulerSpec
        Options; those not given have the defaults of the engine.

    References
    ----------
    .. [1] Agrawal et al. (2024), "Taming throughput-latency tradeoff in LLM inference with Sarathi-Serve",
       OSDI 24.

    Examples
    --------
    >>> sarathi(SchedulerSpec(name="sarathi")).prefill_alloc
    'full'
    """
    return assemble(
        spec,
        composition=Chunked(),
        ordering=Fcfs(),
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
