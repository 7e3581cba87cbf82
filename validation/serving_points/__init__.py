"""Measured TTFT and TPOT of closed loops against the simulator."""

from __future__ import annotations

from .check import PointResults, Verdict, check_points

__all__ = ["PointResults", "Verdict", "check_points"]
