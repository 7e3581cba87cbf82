"""Planning: functions of the rate, of theory or simulator alike, turned into knees and what moves them."""

from .asked_curve import AskedCurve
from .doubling import find_knee
from .explain import Line, explained
from .knee import knee
from .knee_interval import with_interval
from .marks import Knee, marks
from .moves import Move, moves
from .search import Search
from .theory import Theory

__all__ = [
    "AskedCurve",
    "Knee",
    "Line",
    "Move",
    "Search",
    "Theory",
    "explained",
    "find_knee",
    "knee",
    "marks",
    "moves",
    "with_interval",
]
