"""Chunked prefill under a token budget."""

from __future__ import annotations

from qtheory.system.scheduler import SchedulerSpec

from .composition import Chunked
from .ordering import Fcfs
from .policy import Policy
from .registry import assemble, register

__all__ = ["chunked", "cut_or_whole"]


def cut_or_whole(spec: SchedulerSpec) -> Chunked:
    """The composition that the option ``chunked_prefill`` asks for.

    Parameters
    ----------
    spec : SchedulerSpec
        Its other options do not matter here.

    Examples
    --------
    >>> cut_or_whole(SchedulerSpec(chunked_prefill=False)).whole_prompts
    True
    """
    return Chunked(whole_prompts=spec.chunked_prefill is False)


@register("chunked")
def chunked(spec: SchedulerSpec) -> Policy:
    """Every running decode gets its token; prompts share what the budget leaves, oldest first.

    Parameters
    ----------
    spec : SchedulerSpec
        Options; those not given have the defaults of the policy.

    Examples
    --------
    >>> chunked(SchedulerSpec(max_seqs=64)).max_seqs
    64
    """
    return assemble(spec, composition=cut_or_whole(spec), ordering=Fcfs(), takes=("chunked_prefill",))
