"""Pollaczek (1930), Khinchine (1932), Takacs (1962): waits, busy periods and vacations of M/G/1."""

from __future__ import annotations

import math

import numpy as np

from qtheory.laws import Constant, Exponential, Gamma, Law, Lognormal
from qtheory.queues.single import MD1, MG1, BusyPeriod, MultipleVacations, takacs

from ._answers import Queue, given, mean_wait_s, p99_s
from .table import Row, Table

__all__ = ["tables"]

_P99_S: dict[str, tuple[Queue, str]] = {
    "constant, load 0.8": (MD1(rate_rps=0.8, service_s=1.0), "10.355887"),
    "gamma, scv 0.5, load 0.8": (MG1(rate_rps=0.8, service=Gamma(mean=1.0, cv=math.sqrt(0.5))), "16.130583"),
    "gamma, scv 2.5, load 0.7": (MG1(rate_rps=0.7, service=Gamma(mean=1.0, cv=math.sqrt(2.5))), "25.690201"),
    "lognormal, scv 1, load 0.8": (MG1(rate_rps=0.8, service=Lognormal(mean=1.0, cv=1.0)), "23.368157"),
    "lognormal, scv 4, load 0.6": (MG1(rate_rps=0.6, service=Lognormal(mean=1.0, cv=2.0)), "38.503298"),
}
_GAMMA = Gamma(mean=1.0, cv=math.sqrt(0.5))


def _wait_rows() -> list[Row]:
    means = (
        ("constant S, load 0.8: mean wait / S", MD1(rate_rps=8.0, service_s=0.1), "2.000", 0.1),
        ("exponential S, load 0.8: mean wait / S", _mg1(0.8, Exponential(mean=1.0)), "4.000", 1.0),
        ("gamma S, scv 0.5, load 0.8: mean wait / S", _mg1(0.8, _GAMMA), "3.000", 1.0),
        ("lognormal S, scv 4, load 0.6: mean wait / S", _mg1(0.6, Lognormal(mean=1.0, cv=2.0)), "3.750", 1.0),
    )
    rows = [
        Row(case=case, source=said, ours=mean_wait_s(queue) / unit, origin="identity")
        for case, queue, said, unit in means
    ]
    wait = _mg1(0.8, _GAMMA).solve().wait
    variance = given(None if wait is None else wait.var_s2)
    rows.append(
        Row(case="gamma S, scv 0.5, load 0.8: variance", source="13.000", ours=variance, origin="identity")
    )
    return rows + [
        Row(case=f"p99 wait, {case}", source=said, ours=p99_s(queue.solve().wait), origin="recomputed")
        for case, (queue, said) in _P99_S.items()
    ]


def _mg1(rate_rps: float, service: Law) -> MG1:
    return MG1(rate_rps=rate_rps, service=service)


def _busy_rows() -> list[Row]:
    busy = BusyPeriod(rate_rps=0.8, service=_GAMMA).solve()
    constant = BusyPeriod(rate_rps=0.5, service=Constant(value=1.0)).solve()
    exponential = Exponential(mean=0.5)
    root = takacs(np.array([1.0 + 0j]), 1.0, exponential.lst)
    return [
        Row(
            case="gamma S, scv 0.5, load 0.8: mean / S",
            source="5.000",
            ours=busy.mean_busy_period_s,
            origin="identity",
        ),
        Row(
            case="the same: variance",
            source="162.500",
            ours=given(busy.var_busy_period_s2),
            origin="identity",
        ),
        Row(
            case="exponential S, rates 1 and 2: transform at 1",
            source=f"{2 - math.sqrt(2):.6f}",
            ours=float(root[0].real),
            origin="identity",
        ),
        Row(
            case="constant S, load 0.5: P(more than one service)",
            source=f"{1 - math.exp(-0.5):.6f}",
            ours=float(constant.busy_period.sf(1.5)),
            origin="identity",
        ),
    ]


def _vacation_rows() -> list[Row]:
    cases = (
        (
            "S exp(1), V exp(2), rate 0.7: mean wait",
            Exponential(mean=1.0),
            Exponential(mean=2.0),
            0.7,
            "4.3333",
        ),
        ("S exp(1), V = 2, rate 0.7: mean wait", Exponential(mean=1.0), Constant(value=2.0), 0.7, "3.3333"),
        ("S = 1, V exp(1.5), rate 0.5: mean wait", Constant(value=1.0), Exponential(mean=1.5), 0.5, "2.0000"),
        ("S = 1, V = 1.5, rate 0.5: mean wait", Constant(value=1.0), Constant(value=1.5), 0.5, "1.2500"),
    )
    rows = []
    for case, service, vacation, rate_rps, said in cases:
        queue = MultipleVacations(rate_rps=rate_rps, service=service, vacation=vacation)
        rows.append(Row(case=case, source=said, ours=mean_wait_s(queue), origin="identity"))
    first = MultipleVacations(rate_rps=0.7, service=Exponential(mean=1.0), vacation=Exponential(mean=2.0))
    p99 = p99_s(first.solve().wait)
    rows.append(Row(case="the first: p99 wait", source="17.169545", ours=p99, origin="recomputed"))
    return rows


def tables() -> tuple[Table, ...]:
    """Waits, busy periods, vacations."""
    return (
        Table(name="wait", rows=tuple(_wait_rows())),
        Table(name="busy-period", rows=tuple(_busy_rows())),
        Table(name="vacations", rows=tuple(_vacation_rows())),
    )
