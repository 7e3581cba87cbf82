"""Theory against simulator on a grid that was drawn before the models were made."""

from .capacity import overload_rps
from .comparison import GRIDS, KeptCells, agree, cells_of, chosen
from .effort import Effort, effort_of
from .grid import Cell, draw, fresh, full, quick
from .groups import Group, Target, bands_of, groups_of, targets_of
from .knees import Knee
from .more import simulate_more, to_simulate
from .picture import draw_agreement
from .score import Score, score
from .simulated import Simulated, simulate_cell
from .simulations import Simulations, add_simulations, read_simulations
from .stored import Stored, read_agreement
from .text import (
    TextTable,
    agreement_text,
    band_table,
    cell_table,
    group_table,
    refusals,
    summary_of,
    target_table,
)

__all__ = [
    "GRIDS",
    "Cell",
    "Effort",
    "Group",
    "KeptCells",
    "Knee",
    "Score",
    "Simulated",
    "Simulations",
    "Stored",
    "Target",
    "TextTable",
    "add_simulations",
    "agree",
    "agreement_text",
    "band_table",
    "bands_of",
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
    "read_simulations",
    "refusals",
    "score",
    "simulate_cell",
    "simulate_more",
    "summary_of",
    "target_table",
    "targets_of",
    "to_simulate",
]
