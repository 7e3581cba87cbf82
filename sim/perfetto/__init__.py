"""A run as a trace for Perfetto, and who made others wait for their tokens."""

from __future__ import annotations

from .lane import Lane, Phase, Step
from .stalls import Stall, longest_stalls
from .trace import MOST_EVENTS, Trace, trace_events
from .watch import Watch, lanes_of, phases_of
from .write import write_trace

__all__ = [
    "MOST_EVENTS",
    "Lane",
    "Phase",
    "Stall",
    "Step",
    "Trace",
    "Watch",
    "lanes_of",
    "longest_stalls",
    "phases_of",
    "trace_events",
    "write_trace",
]
