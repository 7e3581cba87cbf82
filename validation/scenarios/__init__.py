"""Behaviour cases: small deterministic situations with the outcome that real engines show."""

from __future__ import annotations

from .check import CaseResult, ScenarioResults, check_scenarios

__all__ = ["CaseResult", "ScenarioResults", "check_scenarios"]
