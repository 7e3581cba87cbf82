"""Readers of public trace formats, one format a file."""

from __future__ import annotations
