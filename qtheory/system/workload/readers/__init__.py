"""Readers of public trace formats, one format a file; the format is told from the column names.

``azure`` reads the Azure LLM inference traces, ``plain`` any table with arrivals and lengths (its docstring
lists the accepted names), ``lengths`` tables without arrivals.
"""

from __future__ import annotations

from .format import TraceFormat
from .read import read_lengths, read_requests
from .registry import reader_names

__all__ = ["TraceFormat", "read_lengths", "read_requests", "reader_names"]
