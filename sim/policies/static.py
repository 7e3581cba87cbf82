"""Batching by request."""

from __future__ import annotations

from qtheory.system.scheduler import WHOLE_PROMPT_BUDGET_TOKENS, SchedulerSpec

from .composition import Static
from .ordering import Fcfs
from .policy import Policy
from .registry import assemble, register

__all__ = ["static"]


@register("static")
def static(spec: SchedulerSpec) -> Policy:
    """A batch is formed when the last one is finished, with memory for all of its outputs.

    Parameters
    ----------
    spec : SchedulerSpec
        Options; those not given have the defaults of the policy.

    Examples
    --------
    >>> static(SchedulerSpec(name="static")).admission
    NoEvict()
    """
    return assemble(
        spec,
        composition=Static(),
        ordering=Fcfs(),
        admission="no_evict",
        budget_tokens=WHOLE_PROMPT_BUDGET_TOKENS,
    )
