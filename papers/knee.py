"""Kleinrock (1978, 1979): the load at which throughput over response is largest."""

from __future__ import annotations

import math

from scipy.optimize import minimize_scalar

from qtheory.laws import Constant, Exponential, Gamma, Law
from qtheory.queues.single import MG1

from ._answers import given, mean_response_s
from .table import Row, Table

__all__ = ["tables"]

LAWS: tuple[tuple[str, Law], ...] = (
    ("constant, scv 0", Constant(value=1.0)),
    ("gamma, scv 0.5", Gamma(mean=1.0, cv=math.sqrt(0.5))),
    ("exponential, scv 1", Exponential(mean=1.0)),
    ("gamma, scv 4", Gamma(mean=1.0, cv=2.0)),
)


def _best_load(service: Law) -> float:
    """Load that makes the power, throughput over mean response, largest."""

    def loss(load: float) -> float:
        return -load / mean_response_s(MG1(rate_rps=float(load), service=service))

    return float(minimize_scalar(loss, bounds=(0.01, 0.99), method="bounded", options={"xatol": 1e-9}).x)


def tables() -> tuple[Table, ...]:
    """The load of the knee against its formula, and the number present there, which is one."""
    rows = []
    for name, law in LAWS:
        best = _best_load(law)
        formula = 1 / (1 + math.sqrt((1 + law.scv) / 2))
        present = given(MG1(rate_rps=formula, service=law).solve().mean_number)
        rows.append(
            Row(case=f"{name}: load", source=f"{formula:.4f}", ours=best, origin="identity", within=1e-4)
        )
        rows.append(
            Row(case=f"{name}: mean number present", source="1.0000", ours=present, origin="identity")
        )
    return (Table(name="knee", rows=tuple(rows)),)
