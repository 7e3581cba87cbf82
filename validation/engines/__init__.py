"""The fast engine held against the reference engine, record by record, on random cases."""

from __future__ import annotations

from .cases import PRESETS, Case, draw_cached_case, draw_case
from .compare import differences
from .coverage import RULES, rules_reached
from .run import Agreement, check_engines
from .watch import CACHE_RULES

__all__ = [
    "CACHE_RULES",
    "PRESETS",
    "RULES",
    "Agreement",
    "Case",
    "check_engines",
    "differences",
    "draw_cached_case",
    "draw_case",
    "rules_reached",
]
