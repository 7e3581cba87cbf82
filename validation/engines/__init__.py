"""The fast engine held against the reference engine, record by record, on random cases."""

from __future__ import annotations

from .cases import Case, draw_case
from .compare import differences
from .coverage import RULES, rules_reached
from .run import Agreement, check_engines

__all__ = ["RULES", "Agreement", "Case", "check_engines", "differences", "draw_case", "rules_reached"]
