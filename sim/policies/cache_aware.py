"""What is in memory already goes first."""

from __future__ import annotations

from typing import Any

from qtheory.basics.errors import ConfigError
from qtheory.system.scheduler import SchedulerSpec

from .chunked import cut_or_whole
from .composition import PrefillFirstChunked
from .overtaken import Unskipped
from .pieces import Composition, DynamicOrdering
from .policy import Policy
from .prefix_order import DepthFirst, LongestPrefix
from .registry import assemble, register

__all__ = ["cache_aware", "prefix_ordering"]

_LPM_ONLY = ("sharing_tokens", "max_queue")


def prefix_ordering(spec: SchedulerSpec) -> DynamicOrdering:
    """The order by cached prefix that ``cache_order``, ``sharing_tokens``, ``max_queue``, ``max_skip`` say.

    Parameters
    ----------
    spec : SchedulerSpec
        Its other options do not matter here.

    Raises
    ------
    ConfigError
        If an option was given that the order does not use.

    Examples
    --------
    >>> prefix_ordering(SchedulerSpec(name="cache_aware", sharing_tokens=16)).sharing_tokens
    16
    """
    given = spec.options()
    own: dict[str, Any] = {name: given[name] for name in _LPM_ONLY if name in given}
    ordering: DynamicOrdering
    if spec.cache_order == "dfs-weight":
        if own:
            raise ConfigError(f"{next(iter(own))}: cache_order 'dfs-weight' does not have it; leave it out")
        ordering = DepthFirst()
    else:
        ordering = LongestPrefix(**own)
    return ordering if spec.max_skip is None else Unskipped(inner=ordering, max_skip=spec.max_skip)


@register("cache_aware")
def cache_aware(spec: SchedulerSpec) -> Policy:
    """The longest prefix in memory first; without a prefix cache in order of arrival.

    Parameters
    ----------
    spec : SchedulerSpec
        Options; those not given have the defaults of the policy.

    Raises
    ------
    ConfigError
        If prompts are to be whole in steps that cut them.

    Examples
    --------
    >>> cache_aware(SchedulerSpec(name="cache_aware")).ordering
    LongestPrefix(sharing_tokens=32, max_queue=128)
    """
    composition: Composition = cut_or_whole(spec)
    if spec.composition == "prefill_first_chunked":
        if spec.chunked_prefill is False:
            raise ConfigError(
                "chunked_prefill: composition 'prefill_first_chunked' cuts prompts; leave it out"
            )
        composition = PrefillFirstChunked()
    return assemble(
        spec,
        composition=composition,
        ordering=prefix_ordering(spec),
        takes=("chunked_prefill", "composition", "cache_order", *_LPM_ONLY, "max_skip"),
    )
