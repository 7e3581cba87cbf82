"""Inoue (2021): a GPU that takes all waiting jobs as one batch."""

from __future__ import annotations

from functools import cache

from qtheory.queues.batch import UnlimitedBatchQueue

from ._answers import mean_response_s
from .table import Origin, Row, Table

__all__ = ["tables"]

GPUS_MS = {"V100": (0.1438, 1.8874), "P4": (0.5833, 1.4284)}
"""Milliseconds a job and milliseconds a batch, as the paper fits them."""
LATENCY_MS = {
    "V100": {0.1: "3.1459", 0.3: "4.2248", 0.5: "5.9019", 0.7: "9.8176", 0.8: "14.7147", 0.9: "29.4084"},
    "P4": {0.1: "2.4211", 0.3: "3.5345", 0.5: "5.1846", 0.7: "8.6773", 0.8: "12.9799", 0.9: "25.8774"},
}
BOUND_ABOVE_PERCENT = {
    "V100": {0.1: "4.84", 0.3: "0.03", 0.5: "0.00", 0.7: "0.00", 0.8: "0.00", 0.9: "0.00"},
    "P4": {0.3: "7.46"},
}
_ORIGIN: Origin = "recomputed"


def _queue(gpu: str, load: float) -> UnlimitedBatchQueue:
    slope_ms, base_ms = GPUS_MS[gpu]
    return UnlimitedBatchQueue(rate_rps=1e3 * load / slope_ms, base_s=1e-3 * base_ms, slope_s=1e-3 * slope_ms)


@cache
def _latency_ms(gpu: str, load: float) -> float:
    return 1e3 * mean_response_s(_queue(gpu, load))


def _above_percent(gpu: str, load: float) -> float:
    return 100.0 * (1e3 * _queue(gpu, load).bound_response_s / _latency_ms(gpu, load) - 1.0)


def tables() -> tuple[Table, ...]:
    """Mean latency, and how far the bound lies above it."""
    latency = [
        Row(
            case=f"{gpu}, load {load}: mean latency, ms",
            source=said,
            ours=_latency_ms(gpu, load),
            origin=_ORIGIN,
        )
        for gpu, values in LATENCY_MS.items()
        for load, said in values.items()
    ]
    bound = [
        Row(
            case=f"{gpu}, load {load}: bound above the mean, %",
            source=said,
            ours=_above_percent(gpu, load),
            origin=_ORIGIN,
        )
        for gpu, values in BOUND_ABOVE_PERCENT.items()
        for load, said in values.items()
    ]
    return Table(name="latency", rows=tuple(latency)), Table(name="bound", rows=tuple(bound))
