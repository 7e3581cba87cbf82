"""Networks, by name."""

from __future__ import annotations

from .model import KendallModel

__all__ = ["NETWORK"]

_VISITS = "the visits of a customer depend on each other, so the total time has no simple law; its mean has"
_AROUND = "the time of a cycle is a sum of dependent stays; its mean alone is simple"
_STATIONS = "a network has one queue a station: see mean_number_station1 and the like"

NETWORK: tuple[KendallModel, ...] = (
    KendallModel(
        name="open Jackson network",
        model="network.OpenJackson",
        takes=("external_rps", "routing", "service_rates_rps"),
        may=("servers",),
        also=("Jackson network",),
        fields={"service_rate_rps": "service_rates_rps", "n_servers": "servers"},
        lacks={"wait": _STATIONS, "queue": _STATIONS, "response law": _VISITS, "number law": _STATIONS},
        example={
            "external_rps": [2.0, 0.0],
            "routing": [[0.0, 1.0], [0.3, 0.0]],
            "service_rates_rps": [1.2, 4.0],
            "servers": [3, 1],
        },
    ),
    KendallModel(
        name="closed network",
        model="network.ClosedNetwork",
        takes=("demands_s", "population"),
        may=("servers", "think_s"),
        also=("closed product-form network",),
        make="closed_stations",
        lacks={"wait": _STATIONS, "queue": _STATIONS, "response law": _AROUND, "number law": _STATIONS},
        example={"demands_s": [0.3, 0.5, 0.2], "population": 10, "servers": [1, 2, 1], "think_s": 1.0},
    ),
    KendallModel(
        name="fork-join",
        model="network.ForkJoin",
        takes=("rate_rps", "service_rate_rps", "n_branches"),
        lacks={
            "wait": "each part of a request waits on its own; the response ends with the last of them",
            "law": "the joined queues depend on each other; exact laws are not known beyond two of them",
        },
        example={"rate_rps": 0.5, "service_rate_rps": 1.0, "n_branches": 8},
    ),
)
