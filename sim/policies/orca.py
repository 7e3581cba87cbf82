"""Batching by iteration, with whole prompts."""

from __future__ import annotations

from qtheory.system.scheduler import WHOLE_PROMPT_BUDGET_TOKENS, SchedulerSpec

from .composition import Mixed
from .ordering import Fcfs
from .policy import Policy
from .registry import assemble, register

__all__ = ["orca"]


@register("orca")
def orca(spec: SchedulerSpec) -> Policy:
    """Decodes and whole prompts share a step; memory for the longest output is kept from the start.

    Parameters
    ----------
    spec : SchedulerSpec
        Options; those not given have the defaults of the policy.

    Examples
    --------
    >>> orca(SchedulerSpec(name="orca")).composition
    Mixed()
    """
    return assemble(
        spec,
        composition=Mixed(),
        ordering=Fcfs(),
        admission="no_evict",
        budget_tokens=WHOLE_PROMPT_BUDGET_TOKENS,
    )
