"""Queues that do not settle: overload, finite time, rates that change."""

from __future__ import annotations

from .finite_horizon import FiniteHorizon, FiniteHorizonResult
from .mt_g_inf import MtGInf, SineMtGInf
from .overload import FluidQueue, FluidResult

__all__ = [
    "FiniteHorizon",
    "FiniteHorizonResult",
    "FluidQueue",
    "FluidResult",
    "MtGInf",
    "SineMtGInf",
]
