"""Networks of the oracle table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qtheory.basics.errors import ConfigError
from qtheory.queues.network import (
    ClassNetwork,
    ClosedNetwork,
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


def _numbered(answer: QueueResult, quantity: str, parameters: Parameters) -> float:
    """A quantity of the whole, or of one station or class counted from 1."""
    for what in ("station", "class"):
        name, mark, which = quantity.partition(f"_{what}")
        if not mark:
            continue
        unit = {"arrival_rate": "_rps", "throughput": "_rps", "mean_response": "_s"}.get(name, "")
        values = getattr(answer, f"{name}{unit}_by_{what}", None)
        if values is not None and which.isdigit() and 1 <= int(which) <= len(values):
            return float(values[int(which) - 1])
        if isinstance(answer, JacksonResult) and which.isdigit() and 1 <= int(which) <= len(answer.stations):
            return quantity_of(answer.stations[int(which) - 1], name, parameters)
        raise ConfigError(f"quantity: {quantity!r} is not in the answer of {type(answer).__name__}")
    return quantity_of(answer, quantity, parameters)


def _servers(parameters: Parameters) -> list[Station]:
    demands = parameters["demands"]
    servers = parameters.get("servers", [1] * len(demands))
    pairs = zip(demands, servers, strict=True)
    return [ServerStation(demand_s=demand, n_servers=count) for demand, count in pairs]


def _closed(parameters: Parameters, quantity: str) -> float:
    stations = _servers(parameters)
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
    return _numbered(network.solve(), quantity, parameters)


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
