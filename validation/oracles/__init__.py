"""Queue models against tables of known values."""

from __future__ import annotations

from .checker import ModelCheck, OracleResults, RowFailure, check_oracles

__all__ = ["ModelCheck", "OracleResults", "RowFailure", "check_oracles"]
