"""Prefill and decode on instances of their own."""

from __future__ import annotations

from qtheory.system.scheduler import WHOLE_PROMPT_BUDGET_TOKENS, SchedulerSpec

from .composition import Chunked
from .ordering import Fcfs
from .policy import Policy
from .registry import assemble, register

__all__ = ["disaggregated"]


@register("disaggregated")
def disaggregated(spec: SchedulerSpec) -> Policy:
    """Some instances compute prompts, whole and in order of arrival, others decode; a link lies between.

    The policy of an instance that computes prompts; with ``chunked_prefill`` these are cut to the budget.

    Parameters
    ----------
    spec : SchedulerSpec
        Options; those not given have the defaults of the policy.

    Examples
    --------
    >>> disaggregated(SchedulerSpec(name="disaggregated")).composition
    Chunked(whole_prompts=True)
    """
    return assemble(
        spec,
        composition=Chunked(whole_prompts=spec.whole_prompts),
        ordering=Fcfs(),
        takes=("chunked_prefill",),
        budget_tokens=WHOLE_PROMPT_BUDGET_TOKENS,
    )
