"""From measurements to an accelerator that every command takes, and how well it is known."""

from __future__ import annotations

from .calibrate import calibrate
from .result import Calibration

__all__ = ["Calibration", "calibrate"]
