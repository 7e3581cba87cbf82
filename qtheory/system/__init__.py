"""What is served, on what, how fast, for whom, how it is judged: shared by theory and simulator."""

from __future__ import annotations
