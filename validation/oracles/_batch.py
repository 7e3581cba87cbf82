"""Batch servers of the oracle table."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from qtheory.queues.batch import AffineService, BatchQueue, BatchResult, MMb1, UnlimitedBatchQueue

from ._quantities import quantity_of

__all__ = ["MODELS"]

Parameters = dict[str, Any]


@lru_cache(maxsize=64)
def _limited_result(queue: BatchQueue) -> BatchResult:
    return queue.solve()


def _batch(parameters: Parameters, quantity: str) -> float:
    service = AffineService(
        base_s=parameters["alpha"], slope_s=parameters["beta"], scv=parameters.get("scv_service", 0.0)
    )
    if quantity == "scv_service":
        return service.scv
    queue = BatchQueue(rate_rps=parameters["lam"], service=service, max_batch=parameters["b"])
    if quantity == "max_arrival_rate":
        return queue.capacity_rps
    return quantity_of(_limited_result(queue), quantity, parameters)


@lru_cache(maxsize=64)
def _unlimited_result(queue: UnlimitedBatchQueue) -> BatchResult:
    return queue.solve()


def _unlimited(parameters: Parameters, quantity: str) -> float:
    queue = UnlimitedBatchQueue(
        rate_rps=parameters["lam"], base_s=parameters["alpha"], slope_s=parameters["beta"]
    )
    if quantity == "max_arrival_rate":
        return queue.capacity_rps
    if quantity == "bound_inoue_mean_response_phi0":
        return queue.bound_phi0_s
    if quantity == "bound_inoue_mean_response_phi1":
        return queue.bound_phi1_s
    return quantity_of(_unlimited_result(queue), quantity, parameters)


def _exponential(parameters: Parameters, quantity: str) -> float:
    queue = MMb1(rate_rps=parameters["lam"], service_rate_rps=parameters["mu"], max_batch=parameters["b"])
    if quantity == "max_arrival_rate":
        return queue.capacity_rps
    return quantity_of(queue.solve(), quantity, parameters)


MODELS: dict[str, Callable[[Parameters, str], float]] = {
    "M/D^{[1,b]}/1": _batch,
    "M/G^{[1,b]}/1": _batch,
    "M/D^{[1,inf]}/1": _unlimited,
    "M/M^{[1,b]}/1": _exponential,
}
