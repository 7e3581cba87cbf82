"""Earliest deadline first, with shedding."""

from __future__ import annotations

from qtheory.system.scheduler import SchedulerSpec

from .chunked import cut_or_whole
from .least_slack import LeastSlack
from .ordering import EarliestDeadline
from .policy import Policy
from .registry import assemble, register

__all__ = ["slo"]


@register("slo")
def slo(spec: SchedulerSpec) -> Policy:
    """First-token deadlines order the queue; who must miss its own is rejected.

    Parameters
    ----------
    spec : SchedulerSpec
        Options; those not given have the defaults of the policy. With ``deadline_order`` ``least_slack`` the
        time that a prompt needs alone is taken off its deadline; with ``chunk_size`` ``slack`` a step takes
        no more of prompts than leaves each decode its time per output token.

    Raises
    ------
    ConfigError
        If whole prompts are to be cut.

    Examples
    --------
    >>> slo(SchedulerSpec(name="slo", shed="demote")).shed
    Shedding(action='demote')
    """
    least_slack = spec.deadline_order == "least_slack"
    return assemble(
        spec,
        composition=cut_or_whole(spec),
        ordering=LeastSlack() if least_slack else EarliestDeadline(),
        takes=("chunked_prefill", "deadline_order", "chunk_size"),
        shed="reject",
        chunk_size=spec.chunk_size or "budget",
    )
