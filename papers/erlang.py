"""Erlang (1917), Halfin and Whitt (1981), Garnett, Mandelbaum and Reiman (2002): many servers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from qtheory.numerics.roots import bracketed_root
from qtheory.queues.multi import (
    ErlangA,
    erlang_b,
    erlang_c,
    garnett_wait,
    halfin_whitt_wait,
    servers_for_loss,
    servers_for_wait,
    square_root_servers,
)

from ._answers import given
from .table import Row, Table

__all__ = ["tables"]

OFFERED = {(17, 0.01): "9.65160", (17, 0.05): "12.4613", (25, 0.01): "16.1245"}
"""Servers and loss to offered load, as a published function library prints it."""


def _offered(n_servers: int, loss: float) -> float:
    """Load at which so many servers lose this share."""

    def gap(load: NDArray[np.float64], which: NDArray[np.intp]) -> NDArray[np.float64]:
        return np.array([erlang_b(n_servers=n_servers, load=float(x)) - loss for x in load])

    return float(bracketed_root(gap, 1e-3, float(n_servers)))


def _loss_rows() -> list[Row]:
    rows = [
        Row(
            case=f"{n} servers lose {100 * loss:g} %: offered load",
            source=said,
            ours=_offered(n, loss),
            origin="code",
            within=10.0 ** -len(said.partition(".")[2]),  # the source does not say whether it rounds or cuts
        )
        for (n, loss), said in OFFERED.items()
    ]
    rows.append(
        Row(
            case="load 15.7, loss 1 %: servers",
            source="25",
            ours=servers_for_loss(load=15.7, prob_block=0.01),
            origin="code",
            within=0,
        )
    )
    return rows


def _wait_rows() -> list[Row]:
    cases = (
        (2, 1.6, f"{32 / 45:.6f}", "identity"),
        (10, 8.0, "0.409180", "recomputed"),
        (100, 95.0, "0.506457", "recomputed"),
    )
    return [
        Row(
            case=f"{c} servers, load {load:g}: P(wait)",
            source=said,
            ours=erlang_c(n_servers=c, load=load),
            origin="identity" if origin == "identity" else "recomputed",
        )
        for c, load, said, origin in cases
    ]


def _limit_rows() -> list[Row]:
    """The limits against exact values for a growing load: the distance falls as one over its root."""
    rows = []
    for load in (100, 10_000, 1_000_000):
        root = math.isqrt(load)
        for beta in (0.5, 1.0, 2.0):
            exact = erlang_c(n_servers=round(load + beta * root), load=float(load))
            rows.append(
                Row(
                    case=f"load {load}, beta {beta:g}: P(wait)",
                    source=f"{exact:.6f}",
                    ours=halfin_whitt_wait(beta=beta),
                    origin="library",
                    within=0.25 / root,
                )
            )
    for load in (100, 10_000):
        queue = ErlangA(rate_rps=float(load), service_rate_rps=1.0, n_servers=load, mean_patience_s=1.0)
        rows.append(
            Row(
                case=f"load {load}, beta 0, patience 1: P(wait)",
                source=f"{given(queue.solve().prob_wait):.6f}",
                ours=garnett_wait(beta=0.0, patience_ratio=1.0),
                origin="library",
                within=0.25 / math.isqrt(load),
            )
        )
    return rows


def _staffing_rows() -> list[Row]:
    """The rule with the beta of a target P(wait) of 0.2233, against the exact search."""
    target = halfin_whitt_wait(beta=1.0)
    return [
        Row(
            case=f"load {load}, P(wait) {target:.4f}: servers",
            source=f"{servers_for_wait(load=float(load), prob_wait=target)}",
            ours=square_root_servers(load=float(load), beta=1.0),
            origin="library",
            within=1,
        )
        for load in (10, 100, 1000, 10_000)
    ]


def tables() -> tuple[Table, ...]:
    """Loss, delay, their limits, and how many servers."""
    return (
        Table(name="loss", rows=tuple(_loss_rows())),
        Table(name="delay", rows=tuple(_wait_rows())),
        Table(name="limit", rows=tuple(_limit_rows())),
        Table(name="staffing", rows=tuple(_staffing_rows())),
    )
