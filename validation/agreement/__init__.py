"""Theory against simulator on a grid that was drawn before the models were made."""

from .capacity import overload_rps
from .comparison import GRIDS, KeptCells, agree, cells_of, chosen
from .effort import Effort, effort_of
from .grid import Cell, draw, fresh, full, quick
from .groups import Group, Target, groups_of, targets_of
from .knees import Knee
from .picture import draw_agreement
from .score import Score, score
from .text import agreement_text, summary_of

__all__ = [
    "GRIDS",
    "Cell",
    "Effort",
    "Group",
    "KeptCells",
    "Knee",
    "Score",
    "Target",
    "agree",
    "agreement_text",
    "cells_of",
    "chosen",
    "draw",
    "draw_agreement",
    "effort_of",
    "fresh",
    "full",
    "groups_of",
    "overload_rps",
    "quick",
    "score",
    "summary_of",
    "targets_of",
]
