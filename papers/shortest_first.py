"""Phipps (1956), Schrage and Miller (1966): short jobs first, without and with interruption."""

from __future__ import annotations

from qtheory.laws import Constant, Discrete, Exponential, Law, Lognormal, Uniform
from qtheory.queues.priority import SJF, SRPT, NonpreemptivePriority, PredictedSJF

from ._answers import mean_response_s, mean_wait_s
from .table import Row, Table

__all__ = ["tables"]

LAWS: tuple[tuple[str, float, Law, str, str], ...] = (
    ("exponential, load 0.8", 0.8, Exponential(mean=1.0), "2.882219", "2.352773"),
    ("lognormal, scv 4, load 0.7", 0.7, Lognormal(mean=1.0, cv=2.0), "3.666014", "1.802015"),
    ("uniform 0 to 2, load 0.8", 0.8, Uniform(low=0.0, high=2.0), "2.763742", "2.610101"),
)
"""Law, rate, and mean response without and with interruption, by quadrature over the log of the size."""


def _mean_rows() -> list[Row]:
    rows = []
    for name, rate_rps, law, without, preemptive in LAWS:
        first = mean_response_s(SJF(rate_rps=rate_rps, service=law))
        other = mean_response_s(SRPT(rate_rps=rate_rps, service=law))
        rows.append(Row(case=f"SJF, {name}: mean response", source=without, ours=first, origin="recomputed"))
        rows.append(
            Row(case=f"SRPT, {name}: mean response", source=preemptive, ours=other, origin="recomputed")
        )
    return rows


def _limit_rows() -> list[Row]:
    two = Discrete(values=[0.5, 2.0], probs=[0.4, 0.6])
    classes = NonpreemptivePriority(rate_rps=[0.2, 0.3], service=[Constant(value=0.5), Constant(value=2.0)])
    predicted = PredictedSJF(rate_rps=0.5, service_s=[0.5, 2.0], predicted_s=[0.5, 2.0], weight=[0.4, 0.6])
    blind = PredictedSJF(rate_rps=0.5, service_s=[0.5, 2.0], predicted_s=[1.0, 1.0], weight=[0.4, 0.6])
    work_found = 0.5 * two.moment(2) / 2
    return [
        Row(
            case="one size only: SRPT is M/D/1, response",
            source="3.000",
            ours=mean_response_s(SRPT(rate_rps=0.8, service=Constant(value=1.0))),
            origin="library",
        ),
        Row(
            case="two sizes: SJF against Cobham, mean wait",
            source=f"{mean_wait_s(classes):.6f}",
            ours=mean_wait_s(SJF(rate_rps=0.5, service=two)),
            origin="library",
        ),
        Row(
            case="two sizes known: prediction against Cobham",
            source=f"{mean_wait_s(classes):.6f}",
            ours=mean_wait_s(predicted),
            origin="library",
        ),
        Row(
            case="two sizes, none told: first come first served",
            source=f"{work_found / (1 - 0.5 * two.mean):.6f}",
            ours=mean_wait_s(blind),
            origin="identity",
        ),
    ]


def tables() -> tuple[Table, ...]:
    """Means, and limits that other formulas give."""
    return Table(name="response", rows=tuple(_mean_rows())), Table(name="limits", rows=tuple(_limit_rows()))
