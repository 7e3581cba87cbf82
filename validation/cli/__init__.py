"""The command `sched-sim`, one command a file."""

from __future__ import annotations
