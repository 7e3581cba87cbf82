"""Cobham (1954): classes of priority on one server."""

from __future__ import annotations

from collections.abc import Sequence

from qtheory.laws import Constant, Exponential, Law, Lognormal
from qtheory.queues.multi import MMcPriority
from qtheory.queues.priority import NonpreemptivePriority
from qtheory.queues.single import MG1

from ._answers import mean_wait_s
from .table import Row, Table

__all__ = ["tables"]

CASES: tuple[tuple[str, Sequence[float], Sequence[Law], Sequence[str]], ...] = (
    ("exp(1), exp(1)", (0.3, 0.4), (Exponential(mean=1.0), Exponential(mean=1.0)), ("1.0000", "3.3333")),
    ("exp(0.5), exp(2)", (0.2, 0.3), (Exponential(mean=0.5), Exponential(mean=2.0)), ("1.3889", "4.6296")),
    (
        "exp(1), exp(1.5), exp(0.8)",
        (0.1, 0.2, 0.3),
        (Exponential(mean=1.0), Exponential(mean=1.5), Exponential(mean=0.8)),
        ("0.8244", "1.3741", "3.4352"),
    ),
    (
        "constant 1, lognormal 1.2",
        (0.2, 0.3),
        (Constant(value=1.0), Lognormal(mean=1.2, cv=2.0**0.5)),
        ("0.9350", "2.1250"),
    ),
)
"""Services, rates, laws, and the mean wait of each class worked out by hand."""


def _class_rows() -> list[Row]:
    rows = []
    for name, rates, laws, said in CASES:
        waits = NonpreemptivePriority(rate_rps=rates, service=laws).solve().mean_wait_s_by_class
        rows += [
            Row(case=f"{name}: class {k}, mean wait", source=value, ours=wait, origin="identity")
            for k, (value, wait) in enumerate(zip(said, waits, strict=True), start=1)
        ]
    return rows


def _conservation_row() -> Row:
    """Load times wait, summed over classes, is that of first come first served."""
    name, rates, laws, _ = CASES[1]
    waits = NonpreemptivePriority(rate_rps=rates, service=laws).solve().mean_wait_s_by_class
    ours = sum(rate * law.mean * wait for rate, law, wait in zip(rates, laws, waits, strict=True))
    load = sum(rate * law.mean for rate, law in zip(rates, laws, strict=True))
    found = sum(rate * law.moment(2) for rate, law in zip(rates, laws, strict=True)) / 2
    return Row(
        case=f"{name}: sum of load times wait",
        source=f"{load * found / (1 - load):.6f}",
        ours=ours,
        origin="identity",
    )


def _limits() -> list[Row]:
    one = NonpreemptivePriority(rate_rps=[0.8], service=[Exponential(mean=1.0)])
    several = MMcPriority(rate_rps=[0.2, 0.3], service_rate_rps=1.0, n_servers=1)
    same = NonpreemptivePriority(rate_rps=[0.2, 0.3], service=[Exponential(mean=1.0)] * 2)
    return [
        Row(
            case="one class is M/G/1: mean wait",
            source=f"{mean_wait_s(MG1(rate_rps=0.8, service=Exponential(mean=1.0))):.6f}",
            ours=mean_wait_s(one),
            origin="library",
        ),
        Row(
            case="M/M/c with classes and c = 1: mean wait",
            source=f"{mean_wait_s(several):.6f}",
            ours=mean_wait_s(same),
            origin="library",
        ),
    ]


def tables() -> tuple[Table, ...]:
    """Waits by class, and identities they must keep."""
    return (
        Table(name="wait", rows=tuple(_class_rows())),
        Table(name="identities", rows=(_conservation_row(), *_limits())),
    )
