"""Text, figures and pages: draws any result; results know nothing of pictures."""

from __future__ import annotations

from .canvas import check_figure_path, save_figure
from .facts import facts
from .figures import draw_comparison, draw_goodput, draw_timeline
from .findings import Crossing, comparison, goodput_crossing, told_apart
from .notes import notes, warnings_of
from .page import Page, Section, check_page_path
from .runs import comparison_text, crossings, run_text, sweep_text, trace_text
from .text import folded, human, pairs, table, with_limits
from .typical import guide_rows, step_rows

__all__ = [
    "Crossing",
    "Page",
    "Section",
    "check_figure_path",
    "check_page_path",
    "comparison",
    "comparison_text",
    "crossings",
    "draw_comparison",
    "draw_goodput",
    "draw_timeline",
    "facts",
    "folded",
    "goodput_crossing",
    "guide_rows",
    "human",
    "notes",
    "pairs",
    "run_text",
    "save_figure",
    "step_rows",
    "sweep_text",
    "table",
    "told_apart",
    "trace_text",
    "warnings_of",
    "with_limits",
]
