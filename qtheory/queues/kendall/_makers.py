"""Models that are more than a class called with its fields."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qtheory.queues.batch import BatchQueue
    from qtheory.queues.multi import MMcG
    from qtheory.queues.network import ClosedNetwork
    from qtheory.queues.single import MHk1

__all__ = ["batches", "closed_stations", "constant_patience", "hyperexponential", "longest_members"]


def hyperexponential(values: Mapping[str, Any]) -> MHk1:
    """M/H_k/1 from the law of its services."""
    from qtheory.queues.single import MHk1

    law = values["service"]
    rates = [1.0 / mean for mean in law.means]
    return MHk1(rate_rps=values["rate_rps"], probs=law.probs, service_rates_rps=rates)


def constant_patience(values: Mapping[str, Any]) -> MMcG:
    """M/M/c+D."""
    from qtheory.laws import Constant
    from qtheory.queues.multi import MMcG

    servers = {name: values[name] for name in ("rate_rps", "service_rate_rps", "n_servers")}
    return MMcG(**servers, patience=Constant(value=values["patience_s"]))


def _queue(values: Mapping[str, Any], service: Any) -> BatchQueue:
    from qtheory.queues.batch import BatchQueue

    return BatchQueue(
        rate_rps=values["rate_rps"],
        service=service,
        max_batch=values["max_batch"],
        min_batch=values.get("min_batch", 1),
        timeout_s=values.get("timeout_s", math.inf),
    )


def batches(values: Mapping[str, Any]) -> BatchQueue:
    """A batch takes a base and a slope for each member, constant or with a gamma law."""
    from qtheory.queues.batch import AffineService

    names = {"base_s": "base_s", "slope_s": "slope_s", "scv": "scv_service"}
    return _queue(
        values, AffineService(**{key: values[name] for key, name in names.items() if name in values})
    )


def longest_members(values: Mapping[str, Any]) -> BatchQueue:
    """A batch runs until its longest member is done."""
    from qtheory.queues.batch import LongestMemberService

    names = ("length", "unit_s", "base_s", "slope_s")
    return _queue(values, LongestMemberService(**{name: values[name] for name in names if name in values}))


def closed_stations(values: Mapping[str, Any]) -> ClosedNetwork:
    """A closed network of stations with servers."""
    from qtheory.basics.errors import ConfigError
    from qtheory.queues.network import ClosedNetwork, ServerStation

    demands = values["demands_s"]
    servers = values.get("servers", [1] * len(demands))
    if len(servers) != len(demands):
        raise ConfigError(f"servers: {len(servers)} of them for {len(demands)} demands_s; give one a station")
    stations = [ServerStation(demand_s=d, n_servers=c) for d, c in zip(demands, servers, strict=True)]
    return ClosedNetwork(
        stations=stations, population=values["population"], think_s=values.get("think_s", 0.0)
    )
