"""Queues with several servers, and servers that several customers share."""

from __future__ import annotations

from .closed_step_server import ClosedStepResult, ClosedStepServer
from .erlang import erlang_b, erlang_c
from .erlang_a import AbandonmentResult, ErlangA
from .ggc import GGc
from .gmc import GMc, GMcResult
from .map_ph_c import MapPhC, MapPhResult
from .mdc import EkDc, MDc
from .mgcc import MGcc
from .mginf import LawTime, MGInf, MGInfResult
from .mmc import MMc
from .mmc_g import MMcG
from .mmc_priority import MMcPriority
from .mmck import MMcK, MMcKResult
from .staffing import (
    garnett_wait,
    halfin_whitt_wait,
    servers_for_loss,
    servers_for_wait,
    square_root_servers,
)
from .step_server import StepServer, StepServerResult

__all__ = [
    "AbandonmentResult",
    "ClosedStepResult",
    "ClosedStepServer",
    "EkDc",
    "ErlangA",
    "GGc",
    "GMc",
    "GMcResult",
    "LawTime",
    "MDc",
    "MGInf",
    "MGInfResult",
    "MGcc",
    "MMc",
    "MMcG",
    "MMcK",
    "MMcKResult",
    "MMcPriority",
    "MapPhC",
    "MapPhResult",
    "StepServer",
    "StepServerResult",
    "erlang_b",
    "erlang_c",
    "garnett_wait",
    "halfin_whitt_wait",
    "servers_for_loss",
    "servers_for_wait",
    "square_root_servers",
]
