"""Where theory, simulation and measurement meet."""

from __future__ import annotations
