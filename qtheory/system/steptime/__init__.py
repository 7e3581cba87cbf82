"""Step times: from the load of one engine step to seconds."""

from __future__ import annotations

from .protocol import StepLoad, StepTime

__all__ = ["StepLoad", "StepTime"]
