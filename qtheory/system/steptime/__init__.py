"""Step times: from the load of one engine step to seconds."""

from __future__ import annotations

from .linear import Linear
from .protocol import StepLoad, StepTime
from .roofline import Roofline
from .table import Table, read_table

__all__ = ["Linear", "Roofline", "StepLoad", "StepTime", "Table", "read_table"]
