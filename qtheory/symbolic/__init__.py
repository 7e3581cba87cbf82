"""Formulas of queueing theory derived step by step, and explained with numbers."""

from __future__ import annotations

from .derivation import Derivation
from .explain import Explanation, explain
from .notation import Notation
from .registry import derivations, derive
from .step import Step, Substitution

__all__ = [
    "Derivation",
    "Explanation",
    "Notation",
    "Step",
    "Substitution",
    "derivations",
    "derive",
    "explain",
]
