"""Theory against simulator on a grid that was drawn before the models were made."""

from .capacity import overload_rps
from .grid import Cell, draw, full, quick

__all__ = ["Cell", "draw", "full", "overload_rps", "quick"]
