"""Readers of what load tools and engines write: one format a file, recognised by content."""

from __future__ import annotations

from .point import BenchPoint, EngineRun
from .read import read_measured

__all__ = ["BenchPoint", "EngineRun", "read_measured"]
