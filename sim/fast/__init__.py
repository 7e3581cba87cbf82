"""The fast engine: the decode batch as a cohort, and steps in which nothing changes as one event."""

from __future__ import annotations
