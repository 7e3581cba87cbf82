"""Scheduling policies, one a file."""

from __future__ import annotations
