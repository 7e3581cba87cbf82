"""How far to trust the answers: errors by accelerator, engine, load and quantity, on one page."""

from __future__ import annotations

from .page import renewed, section_names
from .row import Row, rows_of, table
from .sections import SECTIONS

__all__ = ["SECTIONS", "Row", "renewed", "rows_of", "section_names", "table"]
