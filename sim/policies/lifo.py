"""Last come, first served."""

from __future__ import annotations

from qtheory.system.scheduler import SchedulerSpec

from .chunked import cut_or_whole
from .ordering import LastCome
from .policy import Policy
from .registry import assemble, register

__all__ = ["lifo"]


@register("lifo")
def lifo(spec: SchedulerSpec) -> Policy:
    """The latest request first: what a queue must not do, to hold other orders against.

    Parameters
    ----------
    spec : SchedulerSpec
        Options; those not given have the defaults of the policy.

    Examples
    --------
    >>> lifo(SchedulerSpec(name="lifo")).ordering
    LastCome()
    """
    return assemble(spec, composition=cut_or_whole(spec), ordering=LastCome(), takes=("chunked_prefill",))
