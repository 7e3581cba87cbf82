"""Planning: functions of the rate, of theory or simulator alike, turned into knees and what moves them."""

from .explain import Line, explained
from .knee import Knee, knee, marks
from .moves import Move, moves
from .search import Search, find_knee
from .theory import Theory

__all__ = ["Knee", "Line", "Move", "Search", "Theory", "explained", "find_knee", "knee", "marks", "moves"]
