"""Which percentiles a prediction tells, by name."""

from __future__ import annotations

__all__ = ["LEVELS"]

LEVELS = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
