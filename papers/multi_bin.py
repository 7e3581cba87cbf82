"""Guldogan, Kunde, Lee, Pedarsani (2024): batches of requests of like length."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np

from qtheory.laws import Uniform
from qtheory.queues.batch import BatchQueue, LongestMemberService

from .table import Row, Table

__all__ = ["tables"]

LOW, HIGH, BATCH = 1.0, 20.0, 8
CLOSED = {1: "0.4472", 4: "0.6479"}
SIMULATED = {1: "0.4471", 4: "0.6488"}
_FOUR_STANDARD_ERRORS = 0.0026  # of the simulated values: 200,000 batches


@cache
def _throughput_rps(n_bins: int) -> float:
    """Requests per second of full batches, each of one of so many bins of equal probability."""
    ends = np.linspace(LOW, HIGH, n_bins + 1).tolist()
    batch_s = 0.0
    for low, high in pairwise(ends):
        service = LongestMemberService(length=Uniform(low=low, high=high), unit_s=1.0)
        queue = BatchQueue(rate_rps=0.01, service=service, max_batch=BATCH, min_batch=BATCH)
        batch_s += BATCH / queue.capacity_rps / n_bins
    return BATCH / batch_s


def _formula_rps(n_bins: int) -> float:
    mean, spread = (LOW + HIGH) / 2, (HIGH - LOW) / (2 * n_bins)
    return BATCH / (mean + spread * (BATCH - 1) / (BATCH + 1))


def tables() -> tuple[Table, ...]:
    """Throughput with more and more bins."""
    rows = [
        Row(case=f"k = {k}: throughput, 1/s", source=said, ours=_throughput_rps(k), origin="recomputed")
        for k, said in CLOSED.items()
    ]
    rows += [
        Row(
            case=f"k = {k}: the same from drawn batches",
            source=said,
            ours=_throughput_rps(k),
            origin="recomputed",
            within=_FOUR_STANDARD_ERRORS,
        )
        for k, said in SIMULATED.items()
    ]
    rows += [
        Row(
            case=f"k = {k}: the formula",
            source=f"{_formula_rps(k):.6f}",
            ours=_throughput_rps(k),
            origin="identity",
        )
        for k in (2, 8, 16)
    ]
    return (Table(name="throughput", rows=tuple(rows)),)
