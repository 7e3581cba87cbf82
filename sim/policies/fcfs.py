"""First come, first served, whole prompts before decodes."""

from __future__ import annotations

from qtheory.system.scheduler import WHOLE_PROMPT_BUDGET_TOKENS, SchedulerSpec

from .composition import PrefillFirst
from .ordering import Fcfs
from .policy import Policy
from .registry import assemble, register

__all__ = ["fcfs"]


@register("fcfs")
def fcfs(spec: SchedulerSpec) -> Policy:
    """New prompts go first, whole and alone in their step; decodes wait meanwhile.

    Parameters
    ----------
    spec : SchedulerSpec
        Options; those not given have the defaults of the policy.

    Examples
    --------
    >>> fcfs(SchedulerSpec(name="fcfs")).composition
    PrefillFirst()
    """
    return assemble(
        spec, composition=PrefillFirst(), ordering=Fcfs(), budget_tokens=WHOLE_PROMPT_BUDGET_TOKENS
    )
