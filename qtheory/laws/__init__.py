"""Probability laws: describe, fit and sample."""

from __future__ import annotations
