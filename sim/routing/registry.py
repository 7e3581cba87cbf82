"""From a router's name and options to a router."""

from __future__ import annotations

from typing import Any

from qtheory.system.cluster import RouterSpec

from .cache_aware import CacheAware
from .exploit_explore import ExploitExplore
from .freeness import Freeness
from .kv_cost import KvCost
from .least_requests import LeastRequests
from .least_tokens import LeastTokens
from .power_of_two import PowerOfTwo
from .random_choice import RandomChoice
from .round_robin import RoundRobin
from .router import Router

__all__ = ["make_router"]

_KINDS: dict[str, Any] = {
    kind.name: kind
    for kind in (
        RoundRobin,
        RandomChoice,
        LeastRequests,
        LeastTokens,
        PowerOfTwo,
        CacheAware,
        KvCost,
        Freeness,
        ExploitExplore,
    )
}


def make_router(spec: RouterSpec) -> Router:
    """The router that a specification describes.

    Parameters
    ----------
    spec : RouterSpec
        Name and options.

    Raises
    ------
    ConfigError
        If an option is out of its range.

    Examples
    --------
    >>> make_router(RouterSpec(name="kv_cost", options={"overlap_weight": 2.0}))
    KvCost(overlap_weight=2.0, temperature=0.0)
    """
    router: Router = _KINDS[spec.name](**spec.values())
    return router
