"""From scenarios to answers by simulation: points, replications in processes, intervals, kept results."""

from __future__ import annotations

from .ask import compare, replay, run, sweep
from .differences import Difference, differences
from .kept import Kept, NothingKept, kept_in
from .point import Point, Run, requests_of
from .probe import find_rates
from .study import Study
from .watched import Watched, watch
from .workers import Workers

__all__ = [
    "Difference",
    "Kept",
    "NothingKept",
    "Point",
    "Run",
    "Study",
    "Watched",
    "Workers",
    "compare",
    "differences",
    "find_rates",
    "kept_in",
    "replay",
    "requests_of",
    "run",
    "sweep",
    "watch",
]
