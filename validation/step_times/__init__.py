"""Step times held against passes that others measured, and the efficiencies fitted on them."""

from __future__ import annotations

from .check import StepTimeCheck, StepTimeResults, check_step_times

__all__ = ["StepTimeCheck", "StepTimeResults", "check_step_times"]
