"""Theory against simulator on a grid that was drawn before the models were made."""

from .capacity import overload_rps
from .comparison import GRIDS, KeptCells, agree, cells_of, chosen
from .effort import Effort, effort_of
from .grid import Cell, draw, fresh, full, quick
from .groups import Group, Target, groups_of, targets_of
from .knees import Knee
from .picture import draw_agreement
from .score import Score, score
from .stored import Stored, read_agreement
from .text import TextTable, agreement_text, cell_table, group_table, refusals, summary_of, target_table

__all__ = [
    "GRIDS",
    "Cell",
    "Effort",
    "Group",
    "KeptCells",
    "Knee",
    "Score",
    "Stored",
    "Target",
    "TextTable",
    "agree",
    "agreement_text",
    "cell_table",
    "cells_of",
    "chosen",
    "draw",
    "draw_agreement",
    "effort_of",
    "fresh",
    "full",
    "group_table",
    "groups_of",
    "overload_rps",
    "quick",
    "read_agreement",
    "refusals",
    "score",
    "summary_of",
    "target_table",
    "targets_of",
]
