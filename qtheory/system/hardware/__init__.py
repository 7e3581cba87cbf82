"""Hardware: presets as data, with a source for each value."""

from __future__ import annotations

from .hardware import PRECISIONS, Hardware
from .presets import find_hardware, hardware_names

__all__ = ["PRECISIONS", "Hardware", "find_hardware", "hardware_names"]
