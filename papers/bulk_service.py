"""Bailey (1954), Neuts (1967): one server that takes up to b, and starts with a or more."""

from __future__ import annotations

import math

from qtheory.laws import Erlang
from qtheory.queues.batch import AffineService, BatchQueue, MMb1
from qtheory.queues.single import GM1, MD1

from ._answers import mean_response_s, mean_wait_s, p99_s
from .table import Row, Table

__all__ = ["tables"]

GREEDY = (
    (BatchQueue(rate_rps=5.0, service=AffineService(base_s=0.05, slope_s=0.02), max_batch=8), "0.0844427"),
    (BatchQueue(rate_rps=30.0, service=AffineService(base_s=0.05, slope_s=0.01), max_batch=16), "0.1174990"),
    (BatchQueue(rate_rps=60.0, service=AffineService(base_s=0.03, slope_s=0.01), max_batch=32), "0.1325370"),
    (BatchQueue(rate_rps=12.0, service=AffineService(base_s=0.1, slope_s=0.0), max_batch=2), "0.1661467"),
    (
        BatchQueue(rate_rps=8.0, service=AffineService(base_s=0.1, slope_s=0.05, scv=0.5), max_batch=8),
        "0.3996831",
    ),
    (
        BatchQueue(rate_rps=1.5, service=AffineService(base_s=0.5, slope_s=0.1, scv=1.0), max_batch=4),
        "1.1882527",
    ),
)
"""Queues and mean responses in seconds, from the zeros of the generating function in 50 digits."""


def _greedy_rows() -> list[Row]:
    rows = []
    for queue, said in GREEDY:
        service = queue.service
        if isinstance(service, AffineService):
            times = f"{service.base_s:g} + {service.slope_s:g} b, scv {service.scv:g}"
            case = f"rate {queue.rate_rps:g}, up to {queue.max_batch}, {times}: mean response, s"
            rows.append(Row(case=case, source=said, ours=mean_response_s(queue), origin="recomputed"))
    return rows


def _exponential_rows() -> list[Row]:
    """M/M^[1,2]/1, whose root is that of a quadratic; and b = 3 by the chain."""
    lam, mu = 20.0, 12.0
    root = (math.sqrt(1 + 4 * lam / mu) - 1) / 2
    busy = lam / (lam + mu * (1 - root))
    pair = MMb1(rate_rps=lam, service_rate_rps=mu, max_batch=2)
    chain = BatchQueue(rate_rps=2.4, service=AffineService(base_s=1.0, slope_s=0.0, scv=1.0), max_batch=3)
    three = MMb1(rate_rps=2.4, service_rate_rps=1.0, max_batch=3).solve()
    return [
        Row(
            case="exponential, rates 20 and 12, b = 2: mean wait",
            source=f"{busy / (mu * (1 - root**2)):.6f}",
            ours=mean_wait_s(pair),
            origin="identity",
        ),
        Row(
            case="exponential, rates 2.4 and 1, b = 3: mean wait by the chain",
            source="3.311117",
            ours=mean_wait_s(chain),
            origin="recomputed",
        ),
        Row(
            case="the same: p99 wait by the closed form",
            source="15.779652",
            ours=p99_s(three.wait),
            origin="recomputed",
        ),
    ]


def _full_rows() -> list[Row]:
    """Full batches of b are customers of E_b/M/1; on top comes the wait for the others of the batch."""
    rows = []
    for size, rate_rps in ((2, 1.2), (4, 3.0)):
        queue = BatchQueue(
            rate_rps=rate_rps,
            service=AffineService(base_s=1.0, slope_s=0.0, scv=1.0),
            max_batch=size,
            min_batch=size,
        )
        batches = GM1(interval=Erlang(mean=size / rate_rps, k=size), service_rate_rps=1.0)
        rows.append(
            Row(
                case=f"exponential, full batches of {size}, rate {rate_rps:g}: mean wait",
                source=f"{mean_wait_s(batches) + (size - 1) / (2 * rate_rps):.6f}",
                ours=mean_wait_s(queue),
                origin="library",
            )
        )
    single = BatchQueue(rate_rps=0.8, service=AffineService(base_s=1.0, slope_s=0.0), max_batch=1)
    rows.append(
        Row(
            case="batches of one are M/D/1: mean wait",
            source=f"{mean_wait_s(MD1(rate_rps=0.8, service_s=1.0)):.6f}",
            ours=mean_wait_s(single),
            origin="library",
        )
    )
    return rows


def tables() -> tuple[Table, ...]:
    """The greedy rule, exponential batches, full batches."""
    return (
        Table(name="greedy", rows=tuple(_greedy_rows())),
        Table(name="exponential", rows=tuple(_exponential_rows())),
        Table(name="full", rows=tuple(_full_rows())),
    )
