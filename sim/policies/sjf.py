"""Shortest predicted output first."""

from __future__ import annotations

from qtheory.system.scheduler import SchedulerSpec

from .chunked import cut_or_whole
from .ordering import Aged, ShortestOutput
from .policy import Policy
from .registry import assemble, register

__all__ = ["sjf"]


@register("sjf")
def sjf(spec: SchedulerSpec) -> Policy:
    """Waiting requests by predicted output; who has waited ``starvation_limit_s`` goes first.

    Parameters
    ----------
    spec : SchedulerSpec
        Options; those not given have the defaults of the policy.

    Examples
    --------
    >>> sjf(SchedulerSpec(name="sjf")).ordering
    ShortestOutput()
    """
    limit_s = spec.starvation_limit_s
    ordering = ShortestOutput() if limit_s is None else Aged(inner=ShortestOutput(), limit_s=limit_s)
    return assemble(
        spec,
        composition=cut_or_whole(spec),
        ordering=ordering,
        takes=("chunked_prefill", "starvation_limit_s"),
    )
