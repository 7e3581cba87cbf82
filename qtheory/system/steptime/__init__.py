"""Step times: from the load of one engine step to seconds."""

from __future__ import annotations

from .ideal import FRACTIONS, OVERHEADS, IdealSteps, ideal_steps
from .linear import Linear
from .protocol import StepLoad, StepTime
from .roofline import Roofline
from .table import Table, read_table

__all__ = [
    "FRACTIONS",
    "OVERHEADS",
    "IdealSteps",
    "Linear",
    "Roofline",
    "StepLoad",
    "StepTime",
    "Table",
    "ideal_steps",
    "read_table",
]
