"""Batch service under Kendall's names."""

from __future__ import annotations

from .model import KendallModel

__all__ = ["BATCH"]

_LINE = {"rate_rps": 8.0, "base_s": 0.1, "slope_s": 0.01}

BATCH: tuple[KendallModel, ...] = (
    KendallModel(
        name="M/M[1,b]/1",
        model="batch.MMb1",
        takes=("rate_rps", "service_rate_rps", "max_batch"),
        example={"rate_rps": 2.4, "service_rate_rps": 1.0, "max_batch": 3},
    ),
    KendallModel(
        name="M/D[1,inf]/1",
        model="batch.UnlimitedBatchQueue",
        takes=("rate_rps", "base_s", "slope_s"),
        example=_LINE,
    ),
    KendallModel(
        name="M/D[1,b]/1",
        model="batch.BatchQueue",
        takes=("rate_rps", "base_s", "slope_s", "max_batch"),
        make="batches",
        example={**_LINE, "max_batch": 16},
    ),
    KendallModel(
        name="M/D[a,b]/1",
        model="batch.BatchQueue",
        takes=("rate_rps", "base_s", "slope_s", "min_batch", "max_batch"),
        may=("timeout_s",),
        make="batches",
        example={**_LINE, "min_batch": 4, "max_batch": 16, "timeout_s": 0.3},
    ),
    KendallModel(
        name="M/G[1,b]/1",
        model="batch.BatchQueue",
        takes=("rate_rps", "base_s", "slope_s", "scv_service", "max_batch"),
        make="batches",
        example={**_LINE, "scv_service": 0.5, "max_batch": 8},
    ),
    KendallModel(
        name="M/G[a,b]/1",
        model="batch.BatchQueue",
        takes=("rate_rps", "base_s", "slope_s", "scv_service", "min_batch", "max_batch"),
        may=("timeout_s",),
        make="batches",
        example={**_LINE, "scv_service": 0.5, "min_batch": 2, "max_batch": 8},
    ),
    KendallModel(
        name="M/G[1,b]/1 longest member",
        model="batch.BatchQueue",
        takes=("rate_rps", "length", "unit_s", "max_batch"),
        may=("base_s", "slope_s"),
        make="longest_members",
        example={"rate_rps": 1.0, "length": "exponential(mean=5)", "unit_s": 0.1, "max_batch": 4},
    ),
)
