"""Clients are served alike."""

from __future__ import annotations

from qtheory.system.scheduler import SchedulerSpec

from .chunked import cut_or_whole
from .fair_order import LeastServed
from .policy import Policy
from .registry import assemble, register

__all__ = ["fair"]

_OWN = ("prompt_weight", "output_weight", "client_weights")


@register("fair")
def fair(spec: SchedulerSpec) -> Policy:
    """The client that got the least service, in weighted tokens, is next.

    Parameters
    ----------
    spec : SchedulerSpec
        Options; those not given have the defaults of the policy.

    Examples
    --------
    >>> fair(SchedulerSpec(name="fair", client_weights=(2.0, 1.0))).ordering.client_weights
    (2.0, 1.0)
    """
    given = spec.options()
    ordering = LeastServed(**{name: given[name] for name in _OWN if name in given})
    return assemble(spec, composition=cut_or_whole(spec), ordering=ordering, takes=("chunked_prefill", *_OWN))
