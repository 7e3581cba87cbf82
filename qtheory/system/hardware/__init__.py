"""Hardware: presets as data, with a source for each value."""

from __future__ import annotations
