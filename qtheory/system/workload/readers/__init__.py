"""Readers of public trace formats, one format a file; the format is told from the names of columns or keys.

``azure`` reads the Azure LLM inference traces, ``mooncake`` the Mooncake traces, ``plain`` any table or JSON
lines with arrivals and lengths (its docstring lists the accepted names), ``lengths`` those without arrivals.
``rates`` reads arrival rates by window of time and ``quantiles`` lengths by their quantiles, as in ServeGen.
"""

from __future__ import annotations

from .format import TraceFormat
from .quantiles import read_length_laws
from .rates import read_rates
from .read import TICKS, read_lengths, read_requests
from .registry import reader_names
from .ticks import spread_ticks

__all__ = [
    "TICKS",
    "TraceFormat",
    "read_length_laws",
    "read_lengths",
    "read_rates",
    "read_requests",
    "reader_names",
    "spread_ticks",
]
