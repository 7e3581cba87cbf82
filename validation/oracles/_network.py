"""Networks of the oracle table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from qtheory.basics.errors import ConfigError
from qtheory.queues.network import (
    ClassNetwork,
    ClassNetworkResult,
    ClosedNetwork,
    ClosedNetworkResult,
    JacksonResult,
    OpenJackson,
    ServerStation,
    Station,
    StepStation,
)
from qtheory.queues.result import QueueResult

from ._quantities import quantity_of

__all__ = ["MODELS"]

Parameters = dict[str, Any]


_UNITS = {"arrival_rate": "_rps", "throughput": "_rps", "mean_response": "_s"}


def _numbered(answer: QueueResult, quantity: str, parameters: Parameters) -> float:
    """A quantity of the whole, or of one station or class counted from 1."""
    for what in ("station", "class"):
        name, mark, which = quantity.partition(f"_{what}")
        if not mark:
            continue
        values = getattr(answer, f"{name}{_UNITS.get(name, '')}_by_{what}", None)
        if values is None and name == "mean_number" and isinstance(answer, ClassNetworkResult):
            values = tuple(np.sum(answer.mean_number_by_class, axis=0))  # of a station, over the classes
        if values is not None and which.isdigit() and 1 <= int(which) <= len(values):
            return float(np.sum(values[int(which) - 1]))  # of a class, over the stations
        if isinstance(answer, JacksonResult) and which.isdigit() and 1 <= int(which) <= len(answer.stations):
            return quantity_of(answer.stations[int(which) - 1], name, parameters)
        raise ConfigError(f"quantity: {quantity!r} is not in the answer of {type(answer).__name__}")
    if quantity == "throughput" and isinstance(answer, ClassNetworkResult):
        return sum(answer.throughput_rps_by_class)
    return quantity_of(answer, quantity, parameters)


def _servers(parameters: Parameters) -> list[ServerStation]:
    demands = parameters["demands"]
    servers = parameters.get("servers", [1] * len(demands))
    pairs = zip(demands, servers, strict=True)
    return [ServerStation(demand_s=demand, n_servers=count) for demand, count in pairs]


def _closed(parameters: Parameters, quantity: str) -> float:
    servers = _servers(parameters)
    stations: list[Station] = [*servers]
    if "alpha" in parameters:
        stations.append(
            StepStation(
                base_s=parameters["alpha"],
                slope_s=parameters["beta"],
                mean_steps=parameters["mean_tokens"],
                max_running=parameters["max_batch"],
            )
        )
    network = ClosedNetwork(
        stations=stations, population=parameters["population"], think_s=parameters.get("think", 0.0)
    )
    answer = network.solve()
    name, mark, which = quantity.partition("_station")
    if mark and name in ("mean_wait", "mean_queue", "throughput", "arrival_rate") and which.isdigit():
        return _of_station(servers, answer, name, int(which) - 1)
    return _numbered(answer, quantity, parameters)


def _of_station(stations: list[ServerStation], answer: ClosedNetworkResult, name: str, k: int) -> float:
    """Of a station visited once in a cycle."""
    if not 0 <= k < len(stations):
        raise ConfigError(f"quantity: {name!r} is not given for station {k + 1}")
    if name in ("throughput", "arrival_rate"):
        return answer.throughput_rps
    wait_s = answer.mean_response_s_by_station[k] - stations[k].demand_s
    return wait_s if name == "mean_wait" else answer.throughput_rps * wait_s


def _two_classes(parameters: Parameters, quantity: str) -> float:
    network = ClassNetwork(
        population=parameters["population"],
        demand_s=parameters["demands"],
        think_s=parameters.get("think", ()),
    )
    return _numbered(network.solve(), quantity, parameters)


def _open(parameters: Parameters, quantity: str) -> float:
    network = OpenJackson(
        external_rps=parameters["external"],
        routing=parameters["routing"],
        service_rate_rps=parameters["mu"],
        n_servers=parameters.get("c", ()),
    )
    return _numbered(network.solve(), quantity, parameters)


MODELS: dict[str, Callable[[Parameters, str], float]] = {
    "closed product-form network": _closed,
    "closed network with a token-step station": _closed,
    "closed two-class product-form network": _two_classes,
    "open Jackson network": _open,
}
