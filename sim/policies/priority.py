"""Important requests first."""

from __future__ import annotations

from qtheory.system.scheduler import SchedulerSpec

from .chunked import cut_or_whole
from .ordering import Priority
from .policy import Policy
from .registry import assemble, register

__all__ = ["priority"]


@register("priority")
def priority(spec: SchedulerSpec) -> Policy:
    """Smaller priority values are admitted first and lose their blocks last.

    Parameters
    ----------
    spec : SchedulerSpec
        Options; those not given have the defaults of the policy.

    Examples
    --------
    >>> priority(SchedulerSpec(name="priority")).victim
    LowestPriority()
    """
    return assemble(
        spec,
        composition=cut_or_whole(spec),
        ordering=Priority(),
        takes=("chunked_prefill",),
        victim="lowest_priority",
    )
