"""Measured sweeps of rate or concurrency against theory and simulator."""

from __future__ import annotations

from .check import SweepResults, check_sweeps
from .manifest import SHIPPED, find_manifest, read_manifest
from .sweep import Sweep

__all__ = ["SHIPPED", "Sweep", "SweepResults", "check_sweeps", "find_manifest", "read_manifest"]
