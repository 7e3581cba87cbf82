"""Errors, checks and units: the ground floor."""

from __future__ import annotations
