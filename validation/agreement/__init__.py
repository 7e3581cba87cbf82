"""Theory against simulator on a grid that was drawn before the models were made."""

from .capacity import overload_rps
from .grid import Cell, draw, fresh, full, quick
from .score import Score, medians, score

__all__ = ["Cell", "Score", "draw", "fresh", "full", "medians", "overload_rps", "quick", "score"]
