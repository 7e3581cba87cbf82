"""SGLang."""

from __future__ import annotations

from qtheory.basics.errors import ConfigError
from qtheory.system.scheduler import SchedulerSpec

from .cache_aware import prefix_ordering
from .composition import PrefillFirstChunked
from .joining_order import Joining
from .pieces import DynamicOrdering
from .policy import Policy
from .registry import assemble, register

__all__ = ["sglang"]

_PREFIX = ("sharing_tokens", "max_queue", "max_skip")


@register("sglang")
def sglang(spec: SchedulerSpec) -> Policy:
    """SGLang: prompts alone before decodes, room for the expected outputs, the least advanced retracted [1]_.

    In order of arrival, retracted requests last, unless ``cache_order`` is given. SGLang keeps outputs in its
    tree when a request is finished, and loses those of a retracted one; here a full block is kept at the end
    of its step.

    Parameters
    ----------
    spec : SchedulerSpec
        Options; those not given have the defaults of the engine.

    Raises
    ------
    ConfigError
        If an option of an order by cached prefix is given without ``cache_order``.

    References
    ----------
    .. [1] SGLang, ``managers/schedule_policy.py``, ``scheduler.py`` and ``schedule_batch.py``, July 2026.

    Examples
    --------
    >>> sglang(SchedulerSpec(name="sglang")).victim
    FewestOutput()
    """
    ordering: DynamicOrdering = Joining()
    if spec.cache_order is not None:
        ordering = prefix_ordering(spec)
    elif given := [name for name in _PREFIX if name in spec.options()]:
        raise ConfigError(
            f"{given[0]}: scheduler 'sglang' has it only with cache_order; give lpm or dfs-weight"
        )
    return assemble(
        spec,
        composition=PrefillFirstChunked(),
        ordering=ordering,
        takes=("cache_order", *_PREFIX),
        admission="expected",
        append_rule="exact",
        victim="fewest_output",
        preemption="recompute",
        cache_commit="step_end",
    )
